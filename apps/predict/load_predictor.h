// The network that answers: the one of a file, with what training did with its images; or, for a
// file of parameters alone, the one that flags name. Flags may not contradict the file's network.

#ifndef DTNN_APPS_PREDICT_LOAD_PREDICTOR_H_
#define DTNN_APPS_PREDICT_LOAD_PREDICTOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/predict/predict_options.h"
#include "models/serving/predictor.h"

namespace dtnn {

// UsageError for flags that contradict each other or the file, an error that names the file where
// it cannot be read or does not fit. What the user should know besides is added to `warnings`.
absl::StatusOr<std::unique_ptr<Predictor>> LoadPredictor(const PredictOptions& options,
                                                         std::vector<std::string>& warnings);

}  // namespace dtnn

#endif  // DTNN_APPS_PREDICT_LOAD_PREDICTOR_H_
