#include "kernels/conv/amx/amx.h"

#include "kernels/amx/amx.h"
#include "kernels/conv/amx/tile_data.h"

namespace dtnn::conv {
namespace {

Support SupportOf(const Conv2dSpec& spec, Direction direction) {
  if (spec.dtype != DType::kBfloat16) return {.refusal = "computes bfloat16 only"};
  if (direction == Direction::kBackwardFilter)
    return {.refusal = "computes forward and backward data only"};
  return {.refusal = AmxRefusal()};
}

}  // namespace

constexpr Variant kAmx = {
    .name = "amx",
    .support = &SupportOf,
    .bf16 = {.data = &amx::MakeTileData},
};

}  // namespace dtnn::conv
