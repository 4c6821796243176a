// The seed of parameters that no file gives values: the one that training has by default.

#ifndef DTNN_APPS_CONVERSION_INITIAL_SEED_H_
#define DTNN_APPS_CONVERSION_INITIAL_SEED_H_

#include <cstdint>

#include "models/run/options/run_options.h"

namespace dtnn {

inline uint64_t InitialSeed() { return uint64_t(RunOptions().training.seed); }

}  // namespace dtnn

#endif  // DTNN_APPS_CONVERSION_INITIAL_SEED_H_
