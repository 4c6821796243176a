#include "layers/int8/bind_int8.h"

#include <algorithm>

#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "layers/int8/border_op.h"
#include "layers/int8/product_op.h"
#include "layers/int8/select_ops.h"
#include "layers/merging/concatenation.h"
#include "layers/pool2d.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

template <class L>
const L* As(const Layer& layer) {
  return dynamic_cast<const L*>(&layer);
}

// A fully connected layer is a convolution of images of one pixel.
Conv2dSpec SpecOf(const Layer& layer, const BindContext& context) {
  Conv2dSpec spec;
  if (const auto* conv = As<Conv2dLayer>(layer)) {
    spec = conv->Spec(context.inputs[0], context.format);
  } else {
    spec.height = spec.width = 1;
    spec.channels = context.inputs[0].NumElements();
    spec.filters = context.output.NumElements();
    spec.kernel = 1;
    spec.epilogue.bias = layer.Parameters(context.inputs, context.format).size() > 1;
  }
  spec.batch = context.batch;
  return spec;
}

}  // namespace

Int8Form Int8FormOf(const Layer& layer) {
  if (As<Conv2dLayer>(layer) != nullptr || As<FcLayer>(layer) != nullptr) {
    return Int8Form::kProducts;
  }
  const auto* pool = As<Pool2dLayer>(layer);
  const bool selects = (pool != nullptr && pool->kind() == PoolKind::kMax) ||
                       As<ConcatenationLayer>(layer) != nullptr ||
                       As<FlattenLayer>(layer) != nullptr || As<DropoutLayer>(layer) != nullptr;
  return selects ? Int8Form::kSelects : Int8Form::kFloat;
}

absl::StatusOr<std::unique_ptr<LayerOp>> BindInt8(const Layer& layer, const BindContext& context,
                                                  const Int8Values& values) {
  if (values.products) return CreateInt8ProductOp(SpecOf(layer, context), context, values);
  const bool bytes =
      std::ranges::any_of(values.inputs, [](const auto& q) { return q.has_value(); });
  if (!bytes && !values.output) return layer.Bind(context);
  if (Int8FormOf(layer) == Int8Form::kSelects) {
    if (const auto* pool = As<Pool2dLayer>(layer)) {
      return CreateInt8MaxPoolOp(pool->Spec(context.inputs[0], context.format));
    }
    if (As<ConcatenationLayer>(layer) != nullptr) return CreateInt8ConcatenationOp();
    return layer.Bind(context);  // a view
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<LayerOp> op, layer.Bind(context));
  return CreateInt8BorderOp(std::move(op), context, values);
}

}  // namespace dtnn
