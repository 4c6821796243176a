// Samples per second of a rank that draws shuffled batches of 64 from 20000 images of 28 x 28
// bytes, and the share of its time that it spends in Next(). The consumer either does nothing but
// take batches, or reads each one `passes` times as a training step of about that length would.
//
//   BM_Loader/<prefetch>/<passes>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>

#include "benchmark/benchmark.h"
#include "data/loader.h"
#include "data/mnist.h"
#include "data/split.h"
#include "data/testing/idx_files.h"

namespace dtnn {
namespace {

constexpr uint32_t kSamples = 20000;

std::shared_ptr<const Dataset> Images() {
  static const std::shared_ptr<const Dataset> dataset = [] {
    const std::string folder =
        (std::filesystem::temp_directory_path() / "dtnn_loader_benchmark").string();
    std::filesystem::create_directories(folder);
    testing::WriteFile(
        folder, "train-images-idx3-ubyte",
        testing::IdxBytes({kSamples, 28, 28}, testing::Elements(size_t{kSamples} * 28 * 28)));
    testing::WriteFile(folder, "train-labels-idx1-ubyte",
                       testing::IdxBytes({kSamples}, testing::Bytes(kSamples)));
    std::shared_ptr<const Dataset> loaded = LoadMnist({folder, ""}).value();
    std::filesystem::remove_all(folder);
    return loaded;
  }();
  return dataset;
}

void Work(const Batch& batch, int64_t passes) {
  const float* values = batch.x.data<float>();
  for (int64_t pass = 0; pass < passes; ++pass) {
    benchmark::DoNotOptimize(std::accumulate(values, values + batch.x.num_elements(), 0.0f));
  }
}

void BM_Loader(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  auto loader = Loader::Create(Images(), Part::kTrain, AllIndices(kSamples),
                               {.batch = 64, .prefetch = int(state.range(0))})
                    .value();
  Clock::duration waiting = {};
  const Clock::time_point start = Clock::now();
  int64_t epoch = 0;
  for (auto _ : state) {
    loader->StartEpoch(epoch++);
    for (;;) {
      const Clock::time_point asked = Clock::now();
      const Batch* batch = loader->Next().value();
      waiting += Clock::now() - asked;
      if (batch == nullptr) break;
      Work(*batch, state.range(1));
    }
  }
  const Clock::duration total = Clock::now() - start;
  state.SetItemsProcessed(state.iterations() * kSamples);
  state.counters["waiting_%"] = 100.0 * double(waiting.count()) / double(total.count());
}
BENCHMARK(BM_Loader)
    ->ArgNames({"prefetch", "passes"})
    ->ArgsProduct({{0, 1, 2}, {0, 10}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dtnn
