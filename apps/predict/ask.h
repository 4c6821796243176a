// For tests: what predict answers, and what it warns of.

#ifndef DTNN_APPS_PREDICT_ASK_H_
#define DTNN_APPS_PREDICT_ASK_H_

#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/predict/predict_options.h"
#include "apps/predict/run.h"

namespace dtnn::testing {

struct Answer {
  absl::Status status;
  std::string out, errors;
};

inline Answer Ask(const PredictOptions& options, const std::vector<std::string>& paths) {
  std::ostringstream out, errors;
  const absl::Status status = Predict(options, paths, out, errors);
  return {status, out.str(), errors.str()};
}

}  // namespace dtnn::testing

#endif  // DTNN_APPS_PREDICT_ASK_H_
