#include "kernels/conv/gpu/cudnn/call_shape.h"

#include <algorithm>

#include "kernels/conv/gpu/cudnn/filter_order.h"

namespace dtnn::cudnn {

using conv::Direction;

CallShape DenseCall(const Conv2dSpec& spec, Direction direction, int64_t images) {
  const bool channels_last = spec.format == TensorFormat::kNHWC;
  const int64_t y_pitch =
      channels_last ? spec.filters : spec.filters * spec.out_height() * spec.out_width();
  return {.direction = direction,
          .images = images,
          .x_pitch = channels_last ? spec.channels : spec.channels * spec.height * spec.width,
          .y_pitch = y_pitch,
          .addend_pitch = direction == Direction::kForward && spec.epilogue.add ? y_pitch : 0};
}

int64_t MostWorkspace(size_t device_memory) {
  constexpr int64_t kLeast = int64_t{128} << 20, kShare = 16;
  return std::max(kLeast, int64_t(device_memory) / kShare);
}

bool StoresGradient(const Conv2dSpec& spec) { return IsReordered(spec) || IsHalf(spec.dtype); }

std::vector<CallShape> FirstCalls(const Conv2dSpec& spec, const conv::Directions& directions) {
  std::vector<CallShape> calls;
  for (const Direction direction : conv::kDirections) {
    if (!directions[direction]) continue;
    CallShape call = DenseCall(spec, direction, spec.batch);
    calls.push_back(call);
    if (direction == Direction::kForward) continue;
    if (direction == Direction::kBackwardFilter && StoresGradient(spec)) continue;
    call.accumulate = true;
    calls.push_back(call);
  }
  return calls;
}

}  // namespace dtnn::cudnn
