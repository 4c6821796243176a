// Which fusions an evaluation makes (models/plan/fusion.h).

#ifndef DTNN_MODELS_PLAN_FUSIONS_H_
#define DTNN_MODELS_PLAN_FUSIONS_H_

namespace dtnn {

// conv_bn_relu has priority over conv_bn. The last two are named in descriptions, and done in any
// case.
struct Fusions {
  bool conv_bn = true;
  bool conv_bn_relu = true;
  bool conv_relu = true;
  bool bn_relu = true;
  static constexpr Fusions None() { return {false, false, false, false}; }
  friend bool operator==(const Fusions&, const Fusions&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_PLAN_FUSIONS_H_
