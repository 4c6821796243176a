// data.part with a division: "K/N@DIVISION", the K-th of N parts that are made so (DatasetPartOf).

#ifndef DTNN_MODELS_RUN_OPTIONS_DATASET_DIVISION_H_
#define DTNN_MODELS_RUN_OPTIONS_DATASET_DIVISION_H_

#include "absl/status/statusor.h"
#include "data/loading/division/division.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// Equal parts where none is given.
absl::StatusOr<Division> DivisionOf(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_DATASET_DIVISION_H_
