// BM_Int8Conv2d/<level>/<spec>, and the same convolution in float32, BM_Float/<spec>: GOP/s count
// the operations of the definition.

#include <algorithm>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/conv/conv2d.h"
#include "kernels/int8/int8_conv2d.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

void Count(benchmark::State& state, const Conv2dSpec& spec) {
  state.counters["GOP/s"] = benchmark::Counter(spec.Flops() * 1e-9 * double(state.iterations()),
                                               benchmark::Counter::kIsRate);
}

void RunInt8(benchmark::State& state, const Conv2dSpec& conv, Int8Level level) {
  SetNumThreads(1);
  Int8Conv2dSpec spec = {.conv = conv, .input = {.scale = 0.02f, .zero_point = 3}};
  spec.output = Quantization{.scale = 0.1f, .zero_point = 0};
  auto op = *Int8Conv2d::Create(spec, level);
  auto kept = *Buffer::Allocate(Device::Cpu(), op->kept_bytes());
  auto workspace = *Buffer::Allocate(Device::Cpu(), op->workspace_bytes());
  op->Keep(kept->data());
  const Tensor filter = testing::RandomTensor(DType::kFloat32, conv.FilterShape(), 1);
  const Tensor bias = testing::RandomTensor(DType::kFloat32, {conv.filters}, 2);
  absl::Status status =
      op->SetParameters({.filter = filter.data<float>(), .bias = bias.data<float>()});
  const Tensor x = *Tensor::Zeros(DType::kUint8, conv.InputShape());
  for (int64_t i = 0; i < x.num_elements(); ++i)
    x.data<uint8_t>()[i] = uint8_t(i * 2654435761 >> 9);
  const Tensor y = *Tensor::Zeros(DType::kUint8, conv.OutputShape());
  for (auto _ : state) {
    status.Update(op->Forward(x, Tensor(), y, {workspace->data(), workspace->size()}));
  }
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  Count(state, conv);
}

void RunFloat(benchmark::State& state, const Conv2dSpec& conv) {
  SetNumThreads(1);
  auto context = *DeviceContext::Create(Device::Cpu());
  auto op =
      *CreateConv2d(*context, conv, {},
                    {.directions = conv::Only(conv::Direction::kForward), .keeps_filter = true});
  auto kept = *Buffer::Allocate(Device::Cpu(), op->kept_bytes());
  auto workspace = *Buffer::Allocate(Device::Cpu(), op->workspace_bytes());
  absl::Status status = op->kept_bytes() > 0 ? op->Keep(kept) : absl::OkStatus();
  const Tensor x = testing::RandomTensor(DType::kFloat32, conv.InputShape(), 3);
  const Tensor y = testing::ZeroTensor(DType::kFloat32, conv.OutputShape());
  const Tensor filter = testing::RandomTensor(DType::kFloat32, conv.FilterShape(), 1);
  const Tensor bias = testing::RandomTensor(DType::kFloat32, {conv.filters}, 2);
  for (auto _ : state) {
    status.Update(op->Forward(x, {filter, 1}, y, {.bias = bias, .scale = {}, .addend = {}},
                              {workspace->data(), workspace->size()}));
  }
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  Count(state, conv);
}

void Register() {
  struct Layer {
    int64_t batch, extent, channels, filters, kernel;
  };
  for (const Layer& layer : std::initializer_list<Layer>{{4, 56, 64, 64, 3},
                                                         {16, 32, 64, 64, 3},
                                                         {8, 28, 128, 128, 3},
                                                         {16, 14, 256, 256, 3},
                                                         {32, 7, 512, 512, 3},
                                                         {16, 14, 1024, 256, 1},
                                                         {4, 56, 64, 256, 1},
                                                         {64, 32, 16, 16, 3}}) {
    Conv2dSpec spec;
    spec.batch = layer.batch;
    spec.height = spec.width = layer.extent;
    spec.channels = layer.channels;
    spec.filters = layer.filters;
    spec.kernel = layer.kernel;
    spec.padding = layer.kernel / 2;
    spec.epilogue = {.bias = true, .relu = true};
    benchmark::RegisterBenchmark(("BM_Float/" + spec.ToString()).c_str(),
                                 [spec](benchmark::State& state) { RunFloat(state, spec); });
    for (const Int8Level level : Int8Levels()) {
      if (level == Int8Level::kEmulatedTiles) continue;
      benchmark::RegisterBenchmark(
          ("BM_Int8Conv2d/" + std::string(Name(level)) + "/" + spec.ToString()).c_str(),
          [=](benchmark::State& state) { RunInt8(state, spec, level); });
    }
  }
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  dtnn::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
