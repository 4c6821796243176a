// What best_of does: times every convolution of a network, as training and evaluation would run
// it, and prints what is the fastest. No data, no parameters, no training.

#ifndef DTNN_APPS_BEST_OF_RUN_H_
#define DTNN_APPS_BEST_OF_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

// Tells on `out` what was found, and on `err` what could not be timed. What --best-of-file knows
// already is not timed again, and what is new is saved there.
absl::Status RunBestOf(const Options& options, std::ostream& out, std::ostream& err);

}  // namespace dtnn

#endif  // DTNN_APPS_BEST_OF_RUN_H_
