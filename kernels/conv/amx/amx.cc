#include "kernels/conv/amx/amx.h"

#include "kernels/amx/amx.h"
#include "kernels/conv/amx/tile_data.h"
#include "kernels/conv/amx/tile_filter.h"

namespace dtnn::conv {
namespace {

Support SupportOf(const Conv2dSpec& spec, Direction) {
  if (spec.dtype != DType::kBfloat16) return {.refusal = "computes bfloat16 only"};
  return {.refusal = AmxRefusal()};
}

}  // namespace

constexpr Variant kAmx = {
    .name = "amx",
    .support = &SupportOf,
    .bf16 = {.data = &amx::MakeTileData, .filter = &amx::MakeTileFilter},
};

}  // namespace dtnn::conv
