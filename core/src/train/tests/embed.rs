//! Embeddings and scores of images.

use super::*;
use crate::numeric::rows::Rows as _;

#[test]
fn embedding_in_batches_equals_embedding_at_once() {
    let mut trainer = trainer(OptimizerConfig::default());
    advance(&mut trainer, 1);
    let (images, _) = views(&trainer);
    let run = |batch| {
        let images = |range: std::ops::Range<usize>| Ok::<_, Error>(images.clone().slice([range]));
        pollster::block_on(embed(trainer.encoder(), SAMPLES, batch, images)).unwrap()
    };
    let (whole, parts) = (run(SAMPLES), run(5));
    assert_eq!((whole.rows(), whole.columns()), (SAMPLES, 84));
    assert!(whole.values().iter().zip(parts.values()).all(|(a, b)| (a - b).abs() < 1e-6));
    let images_of = |range: std::ops::Range<usize>| Ok::<_, Error>(images.clone().slice([range]));
    let scores = pollster::block_on(score(trainer.model(), SAMPLES, 5, images_of)).unwrap();
    assert_eq!((scores.rows(), scores.columns()), (SAMPLES, 128));
    let wrong = pollster::block_on(embed(trainer.encoder(), SAMPLES, 5, |_| Ok::<_, Error>(images.clone())));
    assert!(matches!(wrong, Err(Error::Shape { .. })));
}
