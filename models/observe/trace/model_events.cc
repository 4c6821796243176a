#include "models/observe/trace/model_events.h"

#include <limits>

namespace dtnn {

ModelKind ModelKindOf(Activity activity) {
  switch (activity) {
    case Activity::kForward:
    case Activity::kInference:
      return kForward;
    case Activity::kBackward:
      return kBackward;
    case Activity::kExchange:
      return kAllReduceDw;
    case Activity::kWaitForGradients:
      return kWaitDw;
    case Activity::kUpdate:
      return kUpdateDw;
    default:
      return kNoModelKind;
  }
}

std::string_view Name(ModelKind kind) {
  constexpr std::string_view kNames[] = {"none",         "forward", "backward",
                                         "allreduce_dw", "wait_dw", "update_dw"};
  return kNames[kind];
}

int ModelLayerOf(const Event& event, std::span<const LayerFacts> layers) {
  const ModelKind kind = ModelKindOf(event.activity);
  if (kind == kForward || kind == kBackward) return event.layer;
  int id = -1;
  int64_t nearest = std::numeric_limits<int64_t>::max();
  for (const LayerFacts& layer : layers) {
    if (layer.last_gradient <= event.first || layer.last_gradient >= nearest) continue;
    nearest = layer.last_gradient;
    id = layer.id;
  }
  return kind == kNoModelKind ? -1 : id;
}

}  // namespace dtnn
