// Megabytes of array per second, written to a file (synced to the disk) and read from one.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "benchmark/benchmark.h"
#include "tensor/files/npz.h"
#include "tensor/philox.h"

namespace dtnn {
namespace {

constexpr int64_t kElements = 1 << 22;

// Weights as they are: random mantissas, few exponents.
NamedTensors Weights() {
  Tensor tensor = *Tensor::Zeros(DType::kFloat32, {kElements});
  const Philox random(1, StreamId(RandomPurpose::kTest));
  for (int64_t i = 0; i < kElements; ++i) {
    tensor.data<float>()[i] = float(0.1 * random.Uniform(uint64_t(i)) - 0.05);
  }
  return {{"weights", tensor}};
}

std::string Path() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/npz_benchmark.npz";
}

NpzCompression CompressionOf(const benchmark::State& state) {
  return state.range(0) == 0 ? NpzCompression::kStored : NpzCompression::kDeflated;
}

void Finish(benchmark::State& state, const absl::Status& status) {
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
  state.SetBytesProcessed(state.iterations() * kElements * int64_t(sizeof(float)));
  state.counters["file/array"] =
      double(std::filesystem::file_size(Path())) / double(kElements * sizeof(float));
  std::filesystem::remove(Path());
}

void BM_NpzWrite(benchmark::State& state) {
  const NamedTensors weights = Weights();
  absl::Status status;
  for (auto _ : state) status.Update(WriteNpz(Path(), weights, CompressionOf(state)));
  Finish(state, status);
}
BENCHMARK(BM_NpzWrite)->ArgName("deflate")->Arg(0)->Arg(1)->UseRealTime();

void BM_NpzRead(benchmark::State& state) {
  absl::Status status = WriteNpz(Path(), Weights(), CompressionOf(state));
  for (auto _ : state) status.Update(ReadNpz(Path()).status());
  Finish(state, status);
}
BENCHMARK(BM_NpzRead)->ArgName("deflate")->Arg(0)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace dtnn
