#include "models/serving/batcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/serving/served_model.h"
#include "models/zoo/zoo.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Values;

Graph Net(int64_t outputs = 4) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({6, 6, 3}).Conv2d(8, {.padding = 1}).Relu().MaxPool2d({.stride = 2});
  return *b.Flatten().Fc(outputs).Softmax().Build();
}

Tensor Random(const Graph& graph, int64_t samples, uint64_t seed) {
  return testing::RandomTensor(DType::kFloat32, graph.input_shape().Prepend(samples), seed);
}

class BatcherTest : public ::testing::Test {
 protected:
  std::string Saved(const Graph& graph, uint64_t seed = 3) {
    const auto device = *DeviceContext::Create(Device::Cpu());
    const auto store = *ParameterStore::Create(graph, *device, DType::kFloat32, seed);
    const std::string path = folder_ + "/net.safetensors";
    EXPECT_TRUE(SaveModel(path, {.graph = graph}, *store, *device).ok());
    return path;
  }
  std::shared_ptr<Predictor> Load(const Graph& graph, int64_t batch) {
    auto predictor = Predictor::Load(Saved(graph), {.batch = batch});
    EXPECT_TRUE(predictor.ok()) << predictor.status();
    return *std::move(predictor);
  }

  // Options that note the sizes of batches.
  BatcherOptions Noting(BatcherOptions options) {
    options.on_batch = [this](int64_t samples) { batches_.push_back(samples); };
    return options;
  }

  std::string folder_ = testing::NewFolder("batcher");
  std::vector<int64_t> batches_;
};

// A request whose answer a test waits for.
class Pending {
 public:
  Pending(Batcher& batcher, Tensor x) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Tensor>>>();
    answer_ = promise->get_future();
    taken_ = batcher.Submit(std::move(x), [promise](absl::StatusOr<Tensor> outputs) {
      promise->set_value(std::move(outputs));
    });
  }
  const absl::Status& taken() const { return taken_; }
  absl::StatusOr<Tensor> Answer() { return answer_.get(); }
  Tensor Outputs() {
    absl::StatusOr<Tensor> outputs = Answer();
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return *std::move(outputs);
  }

 private:
  absl::Status taken_;
  std::future<absl::StatusOr<Tensor>> answer_;
};

// Occupies the batcher's thread until it is released.
class Plug {
 public:
  Plug(Batcher& batcher, Tensor x) {
    std::promise<void> began;
    const absl::Status taken = batcher.Submit(std::move(x), [&](const auto&) {
      began.set_value();
      release_.get_future().wait();
    });
    EXPECT_TRUE(taken.ok()) << taken;
    began.get_future().wait();
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
};

TEST_F(BatcherTest, GathersWhatArrivesWhileABatchIsComputed) {
  const Graph graph = Net();
  auto predictor = Load(graph, 8);
  std::vector<Tensor> xs;
  for (int i = 0; i < 5; ++i) xs.push_back(Random(graph, i == 3 ? 11 : 2, uint64_t(i)));
  std::vector<std::vector<double>> expected;
  for (const Tensor& x : xs) expected.push_back(Values(*predictor->Predict(x)));
  {
    Batcher batcher(predictor, Noting({.max_batch = 8}));
    Plug plug(batcher, Random(graph, 1, 9));
    std::vector<Pending> pending;
    for (const Tensor& x : xs) pending.emplace_back(batcher, x);
    EXPECT_EQ(batcher.queued(), 19);
    plug.Release();
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_TRUE(pending[i].taken().ok()) << pending[i].taken();
      EXPECT_EQ(Values(pending[i].Outputs()), expected[i]) << "request " << i;
    }
  }
  EXPECT_THAT(batches_, ElementsAre(1, 8, 8, 3));
}

TEST_F(BatcherTest, WaitsForNothingUnlessADelayIsAsked) {
  const Graph graph = Net();
  Batcher batcher(Load(graph, 8), Noting({.max_batch = 8}));
  Pending(batcher, Random(graph, 1, 1)).Outputs();
  Pending(batcher, Random(graph, 3, 1)).Outputs();
  EXPECT_THAT(batches_, ElementsAre(1, 3));
}

TEST_F(BatcherTest, ADelayFillsBatchesAndTheEndWaitsForNone) {
  const Graph graph = Net();
  std::optional<Pending> last;
  constexpr int kRounds = 100;
  {
    Batcher batcher(Load(graph, 4), Noting({.max_batch = 4, .max_delay = std::chrono::hours(1)}));
    for (int i = 0; i < kRounds; ++i) {
      Pending first(batcher, Random(graph, 1, 1)), second(batcher, Random(graph, 1, 2));
      Pending third(batcher, Random(graph, 2, 3));
      for (Pending* pending : {&first, &second, &third}) pending->Outputs();
    }
    last.emplace(batcher, Random(graph, 3, 4));
  }
  last->Outputs();
  std::vector<int64_t> expected(kRounds, 4);
  expected.push_back(3);
  EXPECT_EQ(batches_, expected);
}

TEST_F(BatcherTest, ADelayEnds) {
  const Graph graph = Net();
  Batcher batcher(Load(graph, 4),
                  Noting({.max_batch = 4, .max_delay = std::chrono::microseconds(1)}));
  Pending(batcher, Random(graph, 1, 1)).Outputs();
  EXPECT_THAT(batches_, ElementsAre(1));
}

TEST_F(BatcherTest, RefusesWhatHasNoRoom) {
  const Graph graph = Net();
  Batcher batcher(Load(graph, 4), {.max_batch = 4, .max_queued = 6});
  Plug plug(batcher, Random(graph, 1, 1));
  Pending five(batcher, Random(graph, 5, 1)), two(batcher, Random(graph, 2, 1));
  Pending one(batcher, Random(graph, 1, 1)), seven(batcher, Random(graph, 7, 1));
  plug.Release();
  five.Outputs();
  one.Outputs();
  EXPECT_EQ(two.taken().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(two.taken().message()),
              HasSubstr("5 samples wait already, of at most 6"));
  EXPECT_EQ(seven.taken().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(seven.taken().message(),
            "a request of 7 samples; at most 6 are queued, so send it in pieces");
  EXPECT_TRUE(Pending(batcher, Random(graph, 6, 1)).taken().ok()) << "there is room again";
}

TEST_F(BatcherTest, AWrongRequestHurtsNoOther) {
  const Graph graph = Net();
  auto predictor = Load(graph, 8);
  Batcher batcher(predictor, Noting({.max_batch = 8}));
  const Tensor x = Random(graph, 3, 1);
  Tensor nan = Random(graph, 2, 2);
  nan.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  Plug plug(batcher, Random(graph, 1, 9));
  Pending first(batcher, nan), second(batcher, x);
  Pending wrong(batcher, testing::RandomTensor(DType::kFloat32, Shape{2, 6, 6, 1}, 1));
  Pending wrong_type(batcher,
                     testing::RandomTensor(DType::kFloat64, graph.input_shape().Prepend(2), 1));
  Pending none(batcher, Tensor());
  plug.Release();
  EXPECT_TRUE(testing::HasNaN(Values(first.Outputs())));
  EXPECT_EQ(Values(second.Outputs()), Values(*predictor->Predict(x)));
  for (const Pending* refused : {&wrong, &wrong_type, &none}) {
    EXPECT_EQ(refused->taken().code(), absl::StatusCode::kInvalidArgument) << refused->taken();
  }
  EXPECT_THAT(batches_, ElementsAre(1, 5));
}

TEST_F(BatcherTest, ARequestWithABatchThatFailedFails) {
  const Graph graph = Net();
  int batch = 0;
  Batcher batcher(Load(graph, 4), {.max_batch = 4, .on_batch = [&](int64_t) {
                                     if (++batch == 2) throw std::bad_alloc();
                                   }});
  Plug plug(batcher, Random(graph, 1, 9));
  Pending six(batcher, Random(graph, 6, 1)), one(batcher, Random(graph, 1, 1));
  plug.Release();
  EXPECT_EQ(six.Answer().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(one.Answer().ok()) << "though it shares the second batch";
  EXPECT_EQ(batch, 3);
}

TEST_F(BatcherTest, WhatAnAnswerThrowsBecomesItsStatus) {
  const Graph graph = Net();
  Batcher batcher(Load(graph, 4), {.max_batch = 4});
  std::vector<absl::StatusCode> codes;
  const auto submit = [&](int throws, bool memory) {
    const absl::Status taken = batcher.Submit(
        Random(graph, 1, 1), [&codes, throws, memory, calls = 0](const auto& outputs) mutable {
          codes.push_back(outputs.status().code());
          if (++calls > throws) return;
          if (memory) throw std::bad_alloc();
          throw std::runtime_error("a defect");
        });
    EXPECT_TRUE(taken.ok()) << taken;
  };
  submit(1, true);
  submit(1, false);
  submit(2, true);
  EXPECT_TRUE(Pending(batcher, Random(graph, 1, 1)).Answer().ok()) << "the thread still answers";
  using enum absl::StatusCode;
  EXPECT_THAT(codes, ElementsAre(kOk, kResourceExhausted, kOk, kInternal, kOk, kResourceExhausted));
}

// Whatever batch a sample is in, and wherever in it, for networks of all kinds of layers.
TEST_F(BatcherTest, ASampleHasTheSameBitsInEveryBatch) {
  for (const char* name :
       {"simplecnn8", "resnet20", "mobilenetv1", "googlenet", "densenet121", "alexnet"}) {
    const absl::StatusOr<Graph> graph =
        BuildModel(name, {.sample = ImageExtents{32, 32, 3}, .classes = 10});
    ASSERT_TRUE(graph.ok()) << graph.status();
    const Tensor x = Random(*graph, 16, 1);
    for (const MathMode mode : {MathMode::kFp32, MathMode::kBf16}) {
      auto predictor = *Predictor::Load(Saved(*graph), {.batch = 16, .math_mode = mode});
      const std::vector<double> all = Values(*predictor->Predict(x));
      for (const auto& [begin, count] :
           std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {5, 1}, {15, 1}, {3, 7}, {1, 15}}) {
        const std::vector<double> some =
            Values(*predictor->Predict(x.Samples(begin, count, graph->format())));
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + begin * 10))
            << name << " in " << Name(mode) << ", samples " << begin << " to " << begin + count;
      }
    }
  }
}

TEST_F(BatcherTest, ManyThreadsGetTheirOwnAnswers) {
  const Graph graph = Net();
  auto predictor = Load(graph, 16);
  std::vector<int> wrong(4);
  {
    Batcher batcher(predictor, {.max_batch = 16});
    std::vector<std::thread> threads;
    for (size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        const Tensor x = Random(graph, int64_t(t) * 3 + 1, t);
        const std::vector<double> expected = Values(*predictor->Predict(x));
        for (int i = 0; i < 300; ++i) {
          Pending one(batcher, x), two(batcher, x);
          wrong[t] += Values(one.Outputs()) != expected;
          wrong[t] += Values(two.Outputs()) != expected;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST_F(BatcherTest, AModelIsLoadedAgainUnderLoad) {
  const Graph graph = Net();
  const std::string path = Saved(graph, 1);
  const auto model = *ServedModel::Load("net", path, {.batches = {.max_batch = 4}});
  const Tensor x = Random(graph, 2, 1);
  const std::vector<double> before = Values(*model->current()->predictor->Predict(x));
  std::atomic<bool> end = false;
  int answers[2] = {}, others = 0;
  std::vector<double> after;
  std::promise<void> began;
  std::thread load([&] {
    for (bool first = true; !end; first = false) {
      const std::vector<double> y = Values(Pending(*model->current()->batcher, x).Outputs());
      others += y.size() != before.size();
      ++answers[y == before ? 0 : 1];
      if (y != before) after = y;
      if (first) began.set_value();
    }
  });
  began.get_future().wait();
  Saved(graph, 2);
  ASSERT_TRUE(model->Reload().ok());
  EXPECT_EQ(model->current()->number, 2);
  Pending(*model->current()->batcher, x).Outputs();
  Pending(*model->current()->batcher, x).Outputs();
  end = true;
  load.join();
  EXPECT_GT(answers[0], 0);
  EXPECT_EQ(others, 0);
  const std::vector<double> now = Values(*model->current()->predictor->Predict(x));
  EXPECT_NE(now, before);
  EXPECT_TRUE(after.empty() || after == now);

  std::filesystem::resize_file(path, 100);
  const absl::Status broken = model->Reload();
  EXPECT_THAT(std::string(broken.message()), HasSubstr(path));
  EXPECT_EQ(model->current()->number, 2);
  EXPECT_EQ(Values(Pending(*model->current()->batcher, x).Outputs()), now);
  Saved(Net(7), 2);
  ASSERT_TRUE(model->Reload().ok());
  EXPECT_EQ(model->current()->number, 3);
  EXPECT_EQ(Pending(*model->current()->batcher, x).Outputs().shape(), (Shape{2, 7}));
}

TEST_F(BatcherTest, ACallerOfAnOldVersionDoesNotWaitForItsQueue) {
  const Graph graph = Net();
  const auto model = *ServedModel::Load("net", Saved(graph, 1), {});
  std::promise<void> left;
  std::shared_ptr<ServedModel::Version> old = model->current();
  ASSERT_TRUE(old->batcher
                  ->Submit(Random(graph, 1, 1),
                           [&](const absl::StatusOr<Tensor>&) {
                             EXPECT_EQ(left.get_future().wait_for(std::chrono::seconds(10)),
                                       std::future_status::ready);
                           })
                  .ok());
  std::thread reload([&] { EXPECT_TRUE(model->Reload().ok()); });
  while (model->current()->number == 1) std::this_thread::yield();
  old.reset();
  left.set_value();
  reload.join();
}

}  // namespace
}  // namespace dtnn
