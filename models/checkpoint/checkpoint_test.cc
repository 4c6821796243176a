#include "models/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/testing/training_session.h"
#include "models/zoo/zoo.h"
#include "optim/optimizers/adam.h"
#include "tensor/files/array_file.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/npz.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::dtnn::testing::RandomTensor;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::dtnn::testing::Values;
using ::testing::AllOf;
using ::testing::HasSubstr;

Graph Net(TensorFormat format = TensorFormat::kNHWC, const char* name = "net") {
  GraphBuilder b(name, format);
  b.Input({4, 6, 3}).Conv2d(5).BatchNorm().Relu().Flatten().BatchNorm().Fc(3).Softmax();
  return *b.Build();
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "x.npz";
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  // A store in training, all values and slots of which `seed` decides.
  std::unique_ptr<ParameterStore> Store(const Graph& graph, uint64_t seed, int slots = 2,
                                        DType dtype = DType::kFloat32) {
    auto store = *ParameterStore::Create(graph, *device_, dtype, seed);
    EXPECT_TRUE(store->AllocateForTraining(*device_, slots).ok());
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      for (size_t p = 0; p < node.parameters.size(); ++p) {
        Fill(store->Value(int(n), int(p)), seed);
        for (const Tensor& slot : store->slots()) {
          if (node.parameters[p].trainable) Fill(store->Slice(slot, int(n), int(p)), ++seed);
        }
      }
    }
    return store;
  }
  void Fill(const Tensor& tensor, uint64_t seed) {
    EXPECT_TRUE(device_->Copy(RandomTensor(tensor.dtype(), tensor.shape(), seed), tensor).ok());
  }

  RunState Run(const ParameterStore& store) {
    RunState run = {.optimizer = "adam"};
    run.training = {.epoch = 2, .step_in_epoch = 3, .steps_done = 23, .learning_rate = 0.5};
    run.training.schedulers["early_stopping"] = {1, 2};
    Tensor kept = testing::ZeroTensor(store.dtype(), store.all_values().shape());
    EXPECT_TRUE(device_->Copy(store.all_values(), kept).ok());
    run.kept.emplace("early_stopping", kept);
    return run;
  }

  absl::Status Save(const Graph& graph, const ParameterStore& store) {
    return SaveCheckpoint(path_, graph, store, *device_, Run(store));
  }
  absl::StatusOr<StagedCheckpoint> Open(const Graph& graph, const ParameterStore& store,
                                        std::string_view optimizer = "adam") {
    return StagedCheckpoint::Open(path_, graph, store, *device_, optimizer);
  }
  absl::Status ErrorOf(const Graph& graph, const ParameterStore& store,
                       std::string_view optimizer = "adam") {
    const absl::Status status = Open(graph, store, optimizer).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("x.npz"));
    return status;
  }

  // Writes the checkpoint again, changed.
  void Rewrite(const std::function<void(NamedTensors&)>& change, NamedTexts texts) {
    NpzReader reader = *NpzReader::Open(path_);
    NamedTensors tensors;
    for (const std::string& name : reader.names()) {
      absl::StatusOr<Tensor> tensor = reader.Read(name);
      if (tensor.ok()) tensors.emplace_back(name, *std::move(tensor));
    }
    change(tensors);
    ASSERT_TRUE(WriteNpz(path_, tensors, {}, texts).ok());
  }

  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  fs::path folder_;
  std::string path_;
};

const NamedTexts kTags = {{"__format__", "NHWC"}, {"__model__", "net"}, {"__dtype__", "float32"}};

std::vector<std::vector<double>> AllValues(const ParameterStore& store) {
  std::vector<std::vector<double>> values = {Values(store.all_values())};
  for (const Tensor& slot : store.slots()) values.push_back(Values(slot));
  return values;
}

TEST_F(CheckpointTest, EverythingComesBack) {
  const Graph graph = Net();
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const int slots : {0, 1, 3}) {
      auto saved = Store(graph, 1, slots, dtype);
      ASSERT_TRUE(Save(graph, *saved).ok());
      auto store = Store(graph, 2, slots, dtype);
      const uint64_t version = store->version();
      const absl::StatusOr<StagedCheckpoint> checkpoint = Open(graph, *store);
      ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
      EXPECT_NE(AllValues(*store), AllValues(*saved)) << "reading alone changes nothing";
      ASSERT_TRUE(checkpoint->Apply(*store, *device_).ok());
      EXPECT_EQ(AllValues(*store), AllValues(*saved));
      EXPECT_GT(store->version(), version);
      const RunState expected = Run(*saved);
      EXPECT_EQ(checkpoint->run().training, expected.training);
      EXPECT_EQ(checkpoint->run().optimizer, "adam");
      ASSERT_EQ(checkpoint->run().kept.size(), 1u);
      EXPECT_EQ(Values(checkpoint->run().kept.find("early_stopping")->second),
                Values(saved->all_values()));
    }
  }
}

TEST_F(CheckpointTest, ItIsAWeightsFileToo) {
  const Graph graph = Net(), other = Net(TensorFormat::kNCHW);
  auto saved = Store(graph, 1);
  ASSERT_TRUE(Save(graph, *saved).ok());
  auto store = Store(graph, 2, /*slots=*/0, DType::kFloat64);
  const absl::StatusOr<LoadedWeights> loaded = LoadWeights(path_, graph, *store, *device_);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->warnings.empty());
  EXPECT_EQ(loaded->parameters, 2 + 4 + 4 + 2);
  EXPECT_EQ(Values(store->Value(2, 3)), Values(saved->Value(2, 3)));
  EXPECT_EQ(Values(store->Value(6, 0)), Values(saved->Value(6, 0)));
  EXPECT_TRUE(LoadWeights(path_, other, *Store(other, 2), *device_).ok());
}

// The weights of such a checkpoint are the average, and another slot would be taken for it.
TEST_F(CheckpointTest, AnAverageGoesOnWhereThereIsOneOnly) {
  const Graph graph = Net();
  auto with = Store(graph, 1), without = Store(graph, 1), elsewhere = Store(graph, 1);
  ASSERT_TRUE(with->AllocateForTraining(*device_, 2, /*average_slot=*/1).ok());
  ASSERT_TRUE(elsewhere->AllocateForTraining(*device_, 2, /*average_slot=*/0).ok());
  ASSERT_TRUE(Save(graph, *with).ok());
  EXPECT_TRUE(Open(graph, *with).ok());
  const absl::Status refused = ErrorOf(graph, *without);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              ::testing::EndsWith("x.npz: is a checkpoint of a run with an average of its "
                                  "parameters; this one has none. Resume it as it was, or load "
                                  "its parameters (LoadWeights) to start a new run"));
  EXPECT_EQ(ErrorOf(graph, *elsewhere).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(Save(graph, *without).ok());
  EXPECT_THAT(std::string(ErrorOf(graph, *with).message()),
              HasSubstr("a run without an average of its parameters; this one has one. Resume"));
}

TEST_F(CheckpointTest, ItTellsWhatItIsWithoutAModel) {
  const Graph graph = Net(TensorFormat::kNCHW);
  auto saved = Store(graph, 1);
  ASSERT_TRUE(Save(graph, *saved).ok());
  ArrayFileReader file = *ArrayFileReader::Open(path_);
  EXPECT_TRUE(IsCheckpoint(file));
  const CheckpointInfo info = *ReadCheckpointInfo(file);
  EXPECT_EQ(info.model, "net");
  EXPECT_EQ(info.format, "NCHW");
  EXPECT_EQ(info.dtype, "float32");
  EXPECT_EQ(info.slots, 2);
  EXPECT_EQ(info.training.steps_done, 23);
  EXPECT_THAT(info.kept, ::testing::ElementsAre("early_stopping"));
}

TEST_F(CheckpointTest, TheSameRunGivesTheSameBytes) {
  const Graph graph = Net();
  auto store = Store(graph, 1);
  ASSERT_TRUE(Save(graph, *store).ok());
  const std::string first = path_;
  path_ = folder_ / "y.npz";
  ASSERT_TRUE(Save(graph, *store).ok());
  EXPECT_EQ(*ReadFile(first, 1 << 20), *ReadFile(path_, 1 << 20));
}

TEST_F(CheckpointTest, AStateThatNoReaderTakesIsNotWritten) {
  const Graph graph = Net();
  const auto store = Store(graph, 1);
  RunState run = Run(*store);
  run.training.metrics.sums.assign(1500 * 1500, 1);  // a confusion matrix
  ASSERT_TRUE(SaveCheckpoint(path_, graph, *store, *device_, run).ok());
  EXPECT_EQ(Open(graph, *store)->run().training, run.training);
  fs::remove(path_);
  run.training.metrics.sums.assign(3000 * 3000, 1);
  const absl::Status status = SaveCheckpoint(path_, graph, *store, *device_, run);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("x.npz: the state of the run takes 72000"),
                    HasSubstr("leave out multiclass_confusion_matrix")));
  EXPECT_FALSE(fs::exists(path_));
}

// Three ranks have written, each with a last slot of its own.
TEST_F(CheckpointTest, WhatRanksHaveLeftOverIsSharedOutAmongThoseThatRead) {
  const Graph graph = Net();
  const auto store = Store(graph, 1), second = Store(graph, 100), third = Store(graph, 200);
  RunState run = Run(*store);
  run.exchange = ExchangeState{.leftovers = {second->slots().back(), third->slots().back()}};
  ASSERT_TRUE(SaveCheckpoint(path_, graph, *store, *device_, run).ok());
  const std::vector<double> written[] = {
      Values(store->slots().back()), Values(second->slots().back()), Values(third->slots().back())};
  for (const int ranks : {1, 2, 3, 4}) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<double> expected(written[0].size());
      for (int of = rank; of < 3; of += ranks) {
        for (size_t i = 0; i < expected.size(); ++i) expected[i] += written[of][i];
      }
      const auto there = Store(graph, 2);
      const auto staged = StagedCheckpoint::Open(path_, graph, *there, *device_, "adam",
                                                 {.rank = rank, .ranks = ranks});
      ASSERT_TRUE(staged.ok()) << staged.status();
      ASSERT_TRUE(staged->Apply(*there, *device_).ok());
      EXPECT_TRUE(testing::Close(Values(there->slots().back()), expected, 1e-6))
          << rank << " of " << ranks;
    }
  }
}

TEST_F(CheckpointTest, AStateThatIsTooLargeIsNotRead) {
  const auto error = [&](int64_t bytes) {
    const Tensor state = testing::ZeroTensor(DType::kUint8, {bytes});
    EXPECT_TRUE(WriteNpz(path_, {{"__state__", state}}, {}, {}).ok());
    ArrayFileReader file = *ArrayFileReader::Open(path_);
    return std::string(ReadCheckpointInfo(file).status().message());
  };
  EXPECT_THAT(error(67108864), HasSubstr("is not the state of a run")) << "as large as is written";
  EXPECT_THAT(error(67108864 + 65536), HasSubstr("more than the state of a run can have"));
}

TEST_F(CheckpointTest, SlotsAndKeptParametersAreConvertedWithTheWeights) {
  const Graph nhwc = Net(TensorFormat::kNHWC), nchw = Net(TensorFormat::kNCHW);
  auto saved = Store(nhwc, 1), there = Store(nchw, 2), back = Store(nhwc, 3);
  ASSERT_TRUE(Save(nhwc, *saved).ok());
  const StagedCheckpoint first = *Open(nchw, *there);
  ASSERT_TRUE(first.Apply(*there, *device_).ok());
  // One element of a filter, in the values and in a slot: (ci, kh, kw, co) and (co, ci, kh, kw).
  const auto at = [](const Tensor& t, std::array<int64_t, 4> i) {
    const Shape& s = t.shape();
    return t.data<float>()[((i[0] * s[1] + i[1]) * s[2] + i[2]) * s[3] + i[3]];
  };
  EXPECT_EQ(at(there->Value(1, 0), {4, 2, 0, 1}), at(saved->Value(1, 0), {2, 0, 1, 4}));
  EXPECT_EQ(at(there->Slice(there->slots()[1], 1, 0), {4, 2, 0, 1}),
            at(saved->Slice(saved->slots()[1], 1, 0), {2, 0, 1, 4}));
  EXPECT_EQ(Values(first.run().kept.begin()->second), Values(there->all_values()));
  ASSERT_TRUE(SaveCheckpoint(path_, nchw, *there, *device_, first.run()).ok());
  const StagedCheckpoint second = *Open(nhwc, *back);
  ASSERT_TRUE(second.Apply(*back, *device_).ok());
  EXPECT_EQ(AllValues(*back), AllValues(*saved));
}

TEST_F(CheckpointTest, AnotherRunsCheckpointIsAFailedPreconditionThatSaysWhatDiffers) {
  const Graph graph = Net();
  auto store = Store(graph, 1);
  ASSERT_TRUE(Save(graph, *store).ok());
  const auto expect = [&](const absl::Status& status, const char* text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  };
  const Graph other = Net(TensorFormat::kNHWC, "other");
  expect(ErrorOf(other, *Store(other, 1)), "a run with model \"net\"; this one has \"other\"");
  expect(ErrorOf(graph, *Store(graph, 1, 2, DType::kFloat64)),
         "with dtype \"float32\"; this one has \"float64\"");
  expect(ErrorOf(graph, *store, "sgd"), "with optimizer \"adam\"; this one has \"sgd\"");
  expect(ErrorOf(graph, *Store(graph, 1, 1)), "with slots per parameter \"2\"; this one has \"1\"");
}

TEST_F(CheckpointTest, FrozenLayersAreThoseOfTheRun) {
  const Graph graph = Net();
  const int nodes[] = {1, 2};
  const Graph frozen = graph.Frozen(nodes);
  const auto store = Store(frozen, 1);
  ASSERT_TRUE(Save(frozen, *store).ok());
  EXPECT_FALSE(ArrayFileReader::Open(path_)->Contains("__slot0__1_Conv2D_weights"));
  auto back = Store(frozen, 2);
  const absl::StatusOr<StagedCheckpoint> checkpoint = Open(frozen, *back);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  ASSERT_TRUE(checkpoint->Apply(*back, *device_).ok());
  EXPECT_EQ(AllValues(*back), AllValues(*store));

  const auto expect = [&](const Graph& other, const char* text) {
    for (const int slots : {0, 2}) {  // without any, only the state tells
      ASSERT_TRUE(Save(frozen, *Store(frozen, 1, slots)).ok());
      const absl::Status status = ErrorOf(other, *Store(other, 1, slots));
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(text), HasSubstr("LoadWeights")));
    }
  };
  expect(graph, "in which layer 1_Conv2D was frozen; in this one it trains");
  const int more[] = {6};
  expect(frozen.Frozen(more), "in which layer 6_FC trained; in this one it is frozen");
  EXPECT_TRUE(LoadWeights(path_, graph, *Store(graph, 2), *device_).ok());
}

TEST_F(CheckpointTest, WhatIsMissingOrMisshapenIsFoundBeforeAnythingChanges) {
  const Graph graph = Net();
  auto saved = Store(graph, 1);
  const auto drop = [](const char* key) {
    return [key](NamedTensors& tensors) {
      ASSERT_EQ(std::erase_if(tensors, [&](const auto& t) { return t.first == key; }), 1u) << key;
    };
  };
  const auto reshape = [](const char* key) {
    return [key](NamedTensors& tensors) {
      for (auto& [name, tensor] : tensors) {
        if (name == key) tensor = testing::ZeroTensor(tensor.dtype(), {7, 1});
      }
    };
  };
  for (const char* key :
       {"1_Conv2D_weights", "__slot0__1_Conv2D_biases", "__slot1__6_FC_weights",
        "__kept__early_stopping__5_BatchNormalization_running_mean", "__state__"}) {
    using Change = std::function<void(NamedTensors&)>;
    for (const auto& change : {Change(drop(key)), Change(reshape(key))}) {
      ASSERT_TRUE(Save(graph, *saved).ok());
      Rewrite(change, kTags);
      auto store = Store(graph, 2);
      const absl::Status status = ErrorOf(graph, *store);
      EXPECT_THAT(std::string(status.message()), HasSubstr(key));
      EXPECT_NE(status.code(), absl::StatusCode::kFailedPrecondition) << status;
      EXPECT_EQ(AllValues(*store), AllValues(*Store(graph, 2)));
    }
  }
}

TEST_F(CheckpointTest, WeightsAloneAreNoCheckpointAndTagsMustAgree) {
  const Graph graph = Net();
  auto store = Store(graph, 1);
  ASSERT_TRUE(SaveWeights(path_, graph, *store, *device_).ok());
  EXPECT_FALSE(IsCheckpoint(*ArrayFileReader::Open(path_)));
  EXPECT_THAT(std::string(ErrorOf(graph, *store).message()),
              AllOf(HasSubstr("has no __state__"), HasSubstr("LoadWeights")));
  for (const NamedTexts& texts : {NamedTexts(), NamedTexts{{"__format__", "NCHW"}}}) {
    ASSERT_TRUE(Save(graph, *store).ok());
    Rewrite([](NamedTensors&) {}, texts);
    EXPECT_THAT(std::string(ErrorOf(graph, *store).message()),
                HasSubstr("__format__ does not match its state"));
  }
  EXPECT_FALSE(
      SaveCheckpoint(folder_.string() + "/x.safetensors", graph, *store, *device_, {}).ok());
}

// The network of checkpoint_fuzz.cc.
TEST_F(CheckpointTest, SeedsOfTheFuzzerLoadOrSayWhatIsWrong) {
  GraphBuilder b("net", TensorFormat::kNCHW);
  b.Input({2, 3, 2}).Conv2d(3, {.kernel = 2}).BatchNorm().Flatten().BatchNorm().Fc(2);
  const Graph graph = *b.Build();
  auto store = Store(graph, 1, 1);
  const std::pair<const char*, const char*> kSeeds[] = {
      {"good", ""},
      {"good_of_other_format", ""},
      {"nothing_kept", ""},
      {"kept_twice", ""},
      {"slot_of_float64", ""},
      {"many_schedulers", ""},
      {"kept_missing", "has no array \"__kept__other__1_Conv2D_weights\""},
      {"no_state", "has no __state__"},
      {"empty_state", "has version 0"},
      {"truncated_state", "is not the state of a run"},
      {"state_of_floats", "has float32 elements"},
      {"version_2", "has version 2"},
      {"slots_many", "that no run can have"},
      {"nan_rate", "that no run can have"},
      {"no_sampler", "that no run can have"},
      {"tag_contradicts", "does not match its state"},
      {"flipped_bit", "the file is damaged"},
  };
  for (const auto& [seed, error] : kSeeds) {
    fs::copy_file(std::string("models/checkpoint/testdata/fuzz/checkpoint/") + seed, path_,
                  fs::copy_options::overwrite_existing);
    const absl::Status status = Open(graph, *store, "momentum").status();
    EXPECT_EQ(status.ok(), std::string_view(error).empty()) << seed << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(error)) << seed;
  }
}

// The whole way of a program: train, save in the middle of an epoch, begin anew, load,
// continue; the numbers are those of a run that never stopped.
SessionOptions SessionOf() {
  SessionOptions options{.samples = 50, .validation_split = 0, .loading = {.batch = 8}};
  options.training.optimizer = std::make_shared<Adam>();
  options.training.learning_rate = 0.01;
  return options;
}

class StopAt : public Callback {
 public:
  StopAt(Trainer& trainer, int64_t steps) : trainer_(&trainer), steps_(steps) {}
  absl::Status OnBatchEnd(const Pass&) override {
    if (trainer_->steps_done() == steps_) trainer_->Stop();
    return absl::OkStatus();
  }

 private:
  Trainer* trainer_;
  int64_t steps_;
};

TEST_F(CheckpointTest, ARunThatGoesOnFromAFileEndsWithTheSameBits) {
  const Graph graph = *BuildModel("simplecnn8", {.sample = ImageExtents{8, 8, 1}, .classes = 4});
  TrainingSession whole(graph, SessionOf());
  ASSERT_TRUE(whole.Train(3).ok());
  for (const int64_t steps : {1, 9, 12}) {
    {
      TrainingSession first(graph, SessionOf());
      StopAt stop(*first.trainer, steps);
      ASSERT_TRUE(first.Train(3, {&stop}).ok());
      ASSERT_TRUE(SaveCheckpoint(path_, graph, *first.store, *first.device,
                                 {.optimizer = "adam", .training = *first.trainer->State()})
                      .ok());
    }
    TrainingSession second(graph, SessionOf());
    ASSERT_TRUE(second.trainer->PrepareForTraining(second.training->max_batch()).ok());
    const absl::StatusOr<StagedCheckpoint> checkpoint =
        StagedCheckpoint::Open(path_, graph, *second.store, *second.device, "adam");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    ASSERT_TRUE(second.trainer->Restore(checkpoint->run().training).ok());
    ASSERT_TRUE(checkpoint->Apply(*second.store, *second.device).ok());
    EXPECT_EQ(second.trainer->steps_done(), steps);
    ASSERT_TRUE(second.Train(3).ok());
    EXPECT_EQ(AllValues(*second.store), AllValues(*whole.store)) << steps;
  }
}

}  // namespace
}  // namespace dtnn
