// The share of a training run's time that it waits for data: CIFAR-10's binary files (random bytes,
// written to a temporary folder) read into memory, flipped, cropped and standardised by one thread
// beside the training of a small network and of ResNet-20. One iteration is one epoch.
//
//   BM_LoaderWait/<model>/<prefetch>     prefetch 0: no thread, the run prepares its batches itself

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "benchmark/benchmark.h"
#include "data/datasets/cifar10.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/transforms/crop.h"
#include "data/transforms/flip.h"
#include "models/parameters/parameter_store.h"
#include "models/training/step/step_engine.h"
#include "models/zoo/zoo.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/optimizers/adam.h"
#include "tensor/philox.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int64_t kSamples = 1024, kBatch = 64, kRecord = 1 + 32 * 32 * 3;

// A folder of files as CIFAR-10 has them, gone with this object.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "loader_wait_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return;
    path_ = name;
    for (int i = 1; i <= 5; ++i) Write(StrCat("data_batch_", i, ".bin"), uint64_t(i));
    Write("test_batch.bin", 6);
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  void Write(const std::string& name, uint64_t seed) const {
    const Philox random(seed, StreamId(RandomPurpose::kSynthetic));
    std::string bytes(size_t(kSamples / 4 * kRecord), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = char(random.Below(i, i % kRecord == 0 ? 10 : 256));
    }
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), int64_t(bytes.size()));
  }

  std::filesystem::path path_;
};

absl::StatusOr<std::unique_ptr<Loader>> MakeLoader(int prefetch) {
  const Folder folder;
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<const Dataset> dataset,
                        LoadCifar10({.train = folder.path().string(), .test = ""}));
  return Loader::Create(std::move(dataset), Split::kTrain, AllIndices(kSamples),
                        {.batch = kBatch,
                         .prefetch = prefetch,
                         .transforms = {Flip(), Crop({.size = 24})},
                         .normalization = {{-0.49, -0.48, -0.45}, {4.05, 4.11, 3.82}}});
}

absl::Status Run(benchmark::State& state, const std::string& model, int prefetch) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<Loader> loader, MakeLoader(prefetch));
  DTNN_ASSIGN_OR_RETURN(const Graph graph, BuildModel(model, {.sample = ImageExtents{32, 32, 3},
                                                              .classes = int64_t{10}}));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> device,
                        DeviceContext::Create(Device::Cpu()));
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<ParameterStore> store,
                        ParameterStore::Create(graph, *device, DType::kFloat32, 1));
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(), {}};
  options.optimizer = std::make_shared<Adam>(AdamOptions{});
  options.learning_rate = 1e-3;
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<StepEngine> engine,
                        StepEngine::Create(graph, *store, *device, options));
  DTNN_RETURN_IF_ERROR(engine->PrepareForTraining(loader->max_batch()));
  int64_t epoch = 0;
  double waited = 0;
  for (auto _ : state) {
    const double before = loader->seconds_waited();
    loader->StartEpoch(epoch++);
    for (;;) {
      DTNN_ASSIGN_OR_RETURN(const Batch* batch, loader->Next());
      if (batch == nullptr) break;
      DTNN_RETURN_IF_ERROR(engine->Step(*batch, nullptr));
    }
    waited += loader->seconds_waited() - before;
  }
  state.SetItemsProcessed(state.iterations() * kSamples);
  // A rate divides by the time of all iterations.
  state.counters["waiting_%"] = benchmark::Counter(100 * waited, benchmark::Counter::kIsRate);
  return absl::OkStatus();
}

const bool registered = [] {
  for (const char* model : {"simplecnn8", "resnet20_cifar10"}) {
    for (const int prefetch : {0, 2}) {
      const std::string name = StrCat("BM_LoaderWait/", model, "/prefetch", prefetch);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) {
                                     const absl::Status status = Run(state, model, prefetch);
                                     if (!status.ok())
                                       state.SkipWithError(status.ToString().c_str());
                                   })
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace dtnn
