

def weaksup_info_nce(
    view_a, view_b, labels, temperature=0.1, base_temperature=0.07, reduction="mean", variant="released"
):
    return supcon(view_a, view_b, labels, temperature, base_temperature, reduction, variant)
