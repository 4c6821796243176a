// How the original numbers what a layer does: event type 60000001, "Model", value = layer * 5 +
// kind.

#ifndef DTNN_MODELS_OBSERVE_TRACE_MODEL_EVENTS_H_
#define DTNN_MODELS_OBSERVE_TRACE_MODEL_EVENTS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "models/observe/trace/layer_facts.h"
#include "tensor/trace/observer.h"

namespace dtnn {

// From 1; 0: none of them.
enum ModelKind : int { kNoModelKind, kForward, kBackward, kAllReduceDw, kWaitDw, kUpdateDw };
inline constexpr int kModelKinds = 5;

ModelKind ModelKindOf(Activity activity);

// "allreduce_dw"
std::string_view Name(ModelKind kind);

// The layer that the event is counted for. A bucket of gradients, and an update, may cover several:
// the first of which it holds a part. -1: none.
int ModelLayerOf(const Event& event, std::span<const LayerFacts> layers);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_TRACE_MODEL_EVENTS_H_
