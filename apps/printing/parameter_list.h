// The block that a run prints before it starts: options with the values in force.
//
//   **** Parameters:
//     model                          : simplecnn
//     batch_size                     : 64
//
// All of them, or, under a title that says so, the few that describe every run (network, data,
// batch, optimizer) and those that differ from their defaults, where they have an effect.
//
// Names are the flags' with underscores, in the order of the option table; values that follow from
// others (the batch size of a rank, the format that AUTO chose) are printed as they will be used.

#ifndef DTNN_APPS_PRINTING_PARAMETER_LIST_H_
#define DTNN_APPS_PRINTING_PARAMETER_LIST_H_

#include <string>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "models/run/observe/run_listing.h"

namespace dtnn {

// End in a line end. An error only where BatchSizePerRank is one.
absl::StatusOr<std::string> FormatParameterList(const Options& options, const RunFacts& facts);
absl::StatusOr<std::string> FormatShortParameterList(const Options& options, const RunFacts& facts);

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_PARAMETER_LIST_H_
