// What losses and metrics are called in pages, and which of their values are better.

#ifndef DTNN_MODELS_OBSERVE_REPORT_METRIC_TITLE_H_
#define DTNN_MODELS_OBSERVE_REPORT_METRIC_TITLE_H_

#include <optional>
#include <string>
#include <string_view>

#include "optim/losses/better.h"

namespace dtnn {

// "val categorical accuracy, %": words, and the unit where the metric has one.
std::string MetricTitle(std::string_view name);

// For the name of a loss or a metric, perhaps after "val_"; nullopt for other names.
std::optional<Better> BetterByName(std::string_view name);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_METRIC_TITLE_H_
