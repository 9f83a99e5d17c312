// Entry of the worker.
import { serve } from "./serve.js";

serve(self as unknown as MessagePort);
