// The texts by which a file is known as the state of a federation, which an aggregator writes: a
// checkpoint after each round, and files beside them.

#ifndef DTNN_MODELS_CHECKPOINT_FEDERATION_TAGS_H_
#define DTNN_MODELS_CHECKPOINT_FEDERATION_TAGS_H_

namespace dtnn {

inline constexpr char kStrategyTag[] = "__strategy__", kProtectionTag[] = "__protection__";

}  // namespace dtnn

#endif  // DTNN_MODELS_CHECKPOINT_FEDERATION_TAGS_H_
