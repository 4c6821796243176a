// What a run says of its speed at its end.

#ifndef DTNN_MODELS_RUN_TABLES_RUN_SPEED_H_
#define DTNN_MODELS_RUN_TABLES_RUN_SPEED_H_

#include <string>

#include "models/training/trainer.h"

namespace dtnn {

// `seconds`: of all that was done in these passes. Samples of validation count as well, as the
// original counts them; those that the run before a resumed one has done do not. The time per epoch
// is that of all its training, from the share that was done here, and of one validation.
std::string FormatRunSpeed(double seconds, const PassTotals& totals);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_TABLES_RUN_SPEED_H_
