#include "models/observe/report/metric_title.h"

#include <algorithm>

#include "optim/metrics/metrics.h"

namespace dtnn {
namespace {

std::string_view WithoutSplit(std::string_view name) {
  if (name.starts_with("val_")) name.remove_prefix(4);
  return name;
}

}  // namespace

std::string MetricTitle(std::string_view name) {
  std::string title(name);
  std::ranges::replace(title, '_', ' ');
  const auto metric = MakeMetric(WithoutSplit(name));
  if (metric.ok() && (*metric)->Format("", 1).ends_with('%')) title += ", %";
  return title;
}

std::optional<Better> BetterByName(std::string_view name) {
  name = WithoutSplit(name);
  if (const auto metric = MakeMetric(name); metric.ok()) return (*metric)->better();
  const bool loss = name.ends_with("cross_entropy") || name == "mse" || name == "mae";
  return loss ? std::optional(Better::kSmaller) : std::nullopt;
}

}  // namespace dtnn
