// Images per second of one thread, of float32 as a data set of colour images gives them.
//
//   BM_Transforms/<list>/<side>     side: of the square images

#include <cstdint>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "data/transforms/transform_list.h"

namespace dtnn {
namespace {

void BM_Transforms(benchmark::State& state, const std::string& list) {
  const TransformList transforms = ParseTransforms(list).value();
  const int64_t side = state.range(0);
  std::vector<float> values(size_t(side * side * 3)), scratch(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 256) / 255;
  int64_t place = 0;
  for (auto _ : state) {
    ApplyTransforms(
        transforms, 1, 0, place++,
        SampleImage<float>{
            .values = values.data(), .scratch = scratch.data(), .extents = {side, side, 3}});
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

const bool registered = [] {
  for (const char* list : {"flip:1", "vertical_flip:1", "crop:16:1", "pad_crop:4:zero",
                           "pad_crop:4:reflect", "resized_crop", "rotate", "color_jitter",
                           "cutout:8:mean", "cutout:8:zero", "pad_crop,flip,cutout"}) {
    const std::string text = list;
    benchmark::RegisterBenchmark(("BM_Transforms/" + text).c_str(),
                                 [=](benchmark::State& state) { BM_Transforms(state, text); })
        ->ArgName("side")
        ->Arg(32)
        ->Arg(224);
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
