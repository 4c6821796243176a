// Samples per second of a rank that draws shuffled batches of 64 colour images of 32 x 32 bytes, as
// CIFAR-10 has them, and the share of its time that it waits in Next(). The consumer either does
// nothing but take batches (then the figure is what the loader can do) or works on each batch for
// as long as a training step at that many samples per second would take.
//
//   BM_Loader/<prefetch>/<threads>/<changes>/<mapped> as fast as it goes, from memory or a file
//   BM_LoaderWait/<threads>/<changes>/<consumed>      beside a step; consumed: samples/s
//   BM_LoaderForGpu/<bytes>                           padded crop, flip, standardisation; values
//                                                     for 0, else bytes and what was drawn
//   changes: 0 none, 1 flip and crop, 2 flip, crop and standardisation, 3 padded crop, flip, cutout
//   and standardisation

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "data/files/file_bytes.h"
#include "data/formats/record_file.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/transforms/crop.h"
#include "data/transforms/cutout.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"

namespace dtnn {
namespace {

constexpr int64_t kSamples = 20000, kBatch = 64;

// The bytes in a file.
FileBytes Mapped(const std::vector<uint8_t>& bytes) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(folder == nullptr ? "/tmp" : folder) + "/loader_benchmark.bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  FileBytes mapped = FileBytes::Map(path).value();
  std::filesystem::remove(path);
  return mapped;
}

std::shared_ptr<const Dataset> Images(bool mapped) {
  static std::shared_ptr<const Dataset> datasets[2];
  std::shared_ptr<const Dataset>& dataset = datasets[mapped];
  if (dataset == nullptr) {
    std::vector<uint8_t> bytes(kSamples * 3073);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * i % 251);
    for (int64_t i = 0; i < kSamples; ++i) bytes[i * 3073] = uint8_t(i % 10);
    std::vector<LoadedFile> files;
    files.push_back({"benchmark", mapped ? Mapped(bytes) : FileBytes(std::move(bytes))});
    dataset = MakeRecordDataset({.name = "cifar10",
                                 .sample = {.height = 32, .width = 32, .channels = 3},
                                 .outputs = 10},
                                std::move(files), {})
                  .value();
  }
  return dataset;
}

std::unique_ptr<Loader> Make(int prefetch, int threads, int64_t changes, bool mapped) {
  LoaderOptions options = {.batch = kBatch, .prefetch = prefetch, .threads = threads};
  if (changes > 0) options.transforms = {Flip(), Crop({.size = 24})};
  if (changes > 2) options.transforms = {PadCrop(), Flip(), Cutout()};
  if (changes > 1) options.normalization = {{-0.49, -0.48, -0.45}, {4.05, 4.11, 3.82}};
  return Loader::Create(Images(mapped), Split::kTrain, AllIndices(kSamples), options).value();
}

void BM_Loader(benchmark::State& state) {
  auto loader = Make(int(state.range(0)), int(state.range(1)), state.range(2), state.range(3) != 0);
  int64_t epoch = 0;
  for (auto _ : state) {
    loader->StartEpoch(epoch++);
    while (const Batch* batch = loader->Next().value()) {
      benchmark::DoNotOptimize(batch->x.data<float>()[0]);
    }
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
}
BENCHMARK(BM_Loader)
    ->ArgNames({"prefetch", "threads", "changes", "mapped"})
    ->Args({0, 1, 0, 0})
    ->Args({0, 1, 0, 1})
    ->Args({0, 1, 1, 0})
    ->Args({0, 1, 2, 0})
    ->Args({0, 1, 3, 0})
    ->Args({2, 1, 0, 0})
    ->Args({2, 1, 0, 1})
    ->Args({2, 1, 2, 0})
    ->Args({2, 2, 2, 0})
    ->Args({2, 2, 2, 1})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void BM_LoaderForGpu(benchmark::State& state) {
  const LoaderOptions options = {.batch = kBatch,
                                 .prefetch = 0,
                                 .transforms = {PadCrop(), Flip()},
                                 .normalization = {{-0.49, -0.48, -0.45}, {4.05, 4.11, 3.82}},
                                 .bytes = state.range(0) != 0};
  auto loader = Loader::Create(Images(false), Split::kTrain, AllIndices(kSamples), options).value();
  int64_t epoch = 0;
  for (auto _ : state) {
    loader->StartEpoch(epoch++);
    while (const Batch* batch = loader->Next().value()) {
      benchmark::DoNotOptimize(*batch->x.raw_data());
    }
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
}
BENCHMARK(BM_LoaderForGpu)
    ->ArgNames({"bytes"})
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Reads the batch until the time of a step is over.
void Work(const Batch& batch, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  const float* values = batch.x.data<float>();
  do {
    benchmark::DoNotOptimize(std::accumulate(values, values + 4096, 0.0f));
  } while (Clock::now() < end);
}

void BM_LoaderWait(benchmark::State& state) {
  auto loader = Make(2, int(state.range(0)), state.range(1), /*mapped=*/false);
  const double step = double(kBatch) / double(state.range(2));
  const auto start = std::chrono::steady_clock::now();
  int64_t epoch = 0;
  for (auto _ : state) {
    loader->StartEpoch(epoch++);
    while (const Batch* batch = loader->Next().value()) Work(*batch, step);
  }
  const std::chrono::duration<double> total = std::chrono::steady_clock::now() - start;
  state.SetItemsProcessed(state.iterations() * kSamples);
  state.counters["waiting_%"] = 100 * loader->seconds_waited() / total.count();
}
BENCHMARK(BM_LoaderWait)
    ->ArgNames({"threads", "changes", "consumed"})
    ->ArgsProduct({{1, 2}, {2}, {10000, 50000}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dtnn
