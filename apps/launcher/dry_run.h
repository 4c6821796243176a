// What a run would need, without reading data or computing: `--dry-run`.

#ifndef DTNN_APPS_LAUNCHER_DRY_RUN_H_
#define DTNN_APPS_LAUNCHER_DRY_RUN_H_

#include <ostream>

#include "absl/status/status.h"
#include "apps/flags/options.h"

namespace dtnn {

// Prints the table of layers, the multiply-adds of a sample, and the memory of each part:
// parameters, gradients, optimizer, activations, workspace; below it what validation and tests take
// besides. The network takes its samples from what
// is known of the data set without its files, otherwise it is as wide as its name says. Of several
// ranks it is what each of them needs, and what they exchange.
absl::Status DryRun(const Options& options, int ranks, std::ostream& out);

}  // namespace dtnn

#endif  // DTNN_APPS_LAUNCHER_DRY_RUN_H_
