#include "comm/communicator.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/trace/observer.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::ZeroTensor;

class DoneWork : public Work {
 public:
  absl::Status Wait() override { return absl::OkStatus(); }
};

// Remembers what it was asked to do.
class Recorder : public Communicator {
 public:
  Recorder(int rank, int size, const CommunicatorOptions& options)
      : Communicator(rank, size, options) {}
  void Abort(const absl::Status& why) override { aborted = why; }
  std::vector<int> lost() const override { return {}; }
  std::optional<int32_t> AwaitDeparture(int, Timeout) override { return std::nullopt; }
  void set_departure_code(int32_t) override {}
  std::unique_ptr<Work> Start(const Collective& collective) override {
    started.push_back(collective);
    return std::make_unique<DoneWork>();
  }
  std::vector<Collective> started;
  absl::Status aborted;
};

// Lets at least so much time go by.
void Linger(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// Takes 2 ms to start a call and 3 more to end it.
class Slow : public Recorder {
 public:
  Slow() : Recorder(0, 2, {}) {}
  std::unique_ptr<Work> Start(const Collective& collective) override {
    struct SlowWork : Work {
      absl::Status Wait() override {
        Linger(std::chrono::milliseconds(3));
        return absl::OkStatus();
      }
    };
    Linger(std::chrono::milliseconds(2));
    Recorder::Start(collective);
    return std::make_unique<SlowWork>();
  }
};

TEST(CommunicatorTest, OnlyTheTimeInsideCallsAndWaitsIsOnTheClock) {
  Slow slow;
  EXPECT_EQ(slow.waited_seconds(), 0);
  ASSERT_TRUE(slow.Barrier().ok());
  const double blocking = slow.waited_seconds();
  EXPECT_GE(blocking, 0.005);
  const std::unique_ptr<Work> work = slow.AllReduceAsync(ZeroTensor(DType::kFloat32, {3}));
  const double started = slow.waited_seconds();
  EXPECT_GE(started, blocking + 0.002);
  Linger(std::chrono::milliseconds(1));
  EXPECT_EQ(slow.waited_seconds(), started);
  ASSERT_TRUE(work->Wait().ok());
  EXPECT_GE(slow.waited_seconds(), started + 0.003);
}

TEST(CommunicatorTest, TimeoutOfTheCallReplacesTheOption) {
  Recorder recorder(0, 2, {.timeout = std::chrono::milliseconds(70)});
  ASSERT_TRUE(recorder.Barrier().ok());
  ASSERT_TRUE(recorder.Barrier(std::chrono::milliseconds(5)).ok());
  EXPECT_EQ(recorder.started[0].timeout.count(), 70);
  EXPECT_EQ(recorder.started[1].timeout.count(), 5);
}

TEST(CommunicatorTest, CollectivesAreWrittenOut) {
  Recorder recorder(0, 2, {});
  const Tensor x = ZeroTensor(DType::kFloat32, {3}), y = ZeroTensor(DType::kFloat32, {2, 3});
  const Tensor z = ZeroTensor(DType::kFloat32, {6});
  ASSERT_TRUE(recorder.Barrier().ok());
  ASSERT_TRUE(recorder.Broadcast(x, 1).ok());
  ASSERT_TRUE(recorder.AllReduce(y).ok());
  ASSERT_TRUE(recorder.AllReduce(x, ReduceOp::kMin).ok());
  ASSERT_TRUE(recorder.AllReduce(x, ReduceOp::kMax).ok());
  ASSERT_TRUE(recorder.AllGather(x, y).ok());
  ASSERT_TRUE(recorder.Send(x, 1).ok());
  ASSERT_TRUE(recorder.Receive(x, 1).ok());
  ASSERT_TRUE(recorder.ReduceScatter(y, x).ok());
  ASSERT_TRUE(recorder.ReduceScatter(y, x, ReduceOp::kMax).ok());
  ASSERT_TRUE(recorder.AllToAll(y, z).ok());
  ASSERT_TRUE(recorder.BroadcastAsync(y, 1)->Wait().ok());
  ASSERT_TRUE(recorder.AllReduceAsync(y, ReduceOp::kMax)->Wait().ok());
  ASSERT_TRUE(recorder.AllGatherAsync(x, y)->Wait().ok());
  ASSERT_TRUE(recorder.SendAsync(y, 1)->Wait().ok());
  ASSERT_TRUE(recorder.ReceiveAsync(y, 1)->Wait().ok());
  ASSERT_TRUE(recorder.ReduceScatterAsync(y, x, ReduceOp::kMin)->Wait().ok());
  ASSERT_TRUE(recorder.AllToAllAsync(y, z)->Wait().ok());
  for (size_t i = 0; i < recorder.started.size(); ++i) {
    EXPECT_EQ(recorder.started[i].waits_at_once, i < 11) << i;
  }
  std::vector<std::string> texts;
  for (const Collective& collective : recorder.started) texts.push_back(collective.ToString());
  EXPECT_THAT(texts, ::testing::ElementsAre(
                         "barrier", "broadcast of 3 float32 from rank 1", "all-reduce of 6 float32",
                         "all-reduce (minimum) of 3 float32", "all-reduce (maximum) of 3 float32",
                         "all-gather of 3 float32 each", "send of 3 float32 to rank 1",
                         "receive of 3 float32 from rank 1", "reduce-scatter of 6 float32",
                         "reduce-scatter (maximum) of 6 float32", "all-to-all of 6 float32",
                         "broadcast of 6 float32 from rank 1", "all-reduce (maximum) of 6 float32",
                         "all-gather of 3 float32 each", "send of 6 float32 to rank 1",
                         "receive of 6 float32 from rank 1",
                         "reduce-scatter (minimum) of 6 float32", "all-to-all of 6 float32"));
}

TEST(CommunicatorTest, CallsFitWhenAllRanksMeanTheSame) {
  const Tensor x = ZeroTensor(DType::kFloat32, {3}), y = ZeroTensor(DType::kFloat64, {3});
  const Collective sum = {.kind = CollectiveKind::kAllReduce, .input = x, .output = x};
  Collective other = sum;
  EXPECT_TRUE(sum.Fits(other));
  other.op = ReduceOp::kMin;
  EXPECT_FALSE(sum.Fits(other));
  const Collective send = {.kind = CollectiveKind::kSend, .input = x, .output = x, .root = 1};
  Collective receive = {.kind = CollectiveKind::kReceive, .input = x, .output = x, .root = 0};
  EXPECT_TRUE(send.Fits(receive));
  EXPECT_TRUE(receive.Fits(send));
  EXPECT_FALSE(send.Fits(send));
  EXPECT_FALSE(send.Fits(sum));
  receive.input = receive.output = y;
  EXPECT_FALSE(send.Fits(receive));
}

TEST(CommunicatorTest, WhatDoesNotOverlapIsTaken) {
  Recorder recorder(1, 2, {});
  const Tensor all = ZeroTensor(DType::kFloat32, {12});
  const auto part = [&](int64_t begin, int64_t count) {
    return all.Samples(begin, count, TensorFormat::kNHWC);
  };
  EXPECT_TRUE(recorder.AllToAll(part(0, 6), part(6, 6)).ok());
  EXPECT_TRUE(recorder.AllToAll(part(6, 6), part(0, 6)).ok());
  EXPECT_TRUE(recorder.ReduceScatter(part(0, 6), part(6, 3)).ok());
  EXPECT_TRUE(recorder.ReduceScatter(part(0, 6), part(3, 3)).ok());
}

// Keeps the events that end.
class Watcher : public Observer {
 public:
  void End(const Event& event) override { events.emplace_back(event.activity, event.bytes); }
  std::vector<std::pair<Activity, int64_t>> events;
};

TEST(CommunicatorTest, ObserversSeeTheCallsThatBlock) {
  Recorder recorder(0, 2, {});
  const Tensor x = ZeroTensor(DType::kFloat32, {3}), y = ZeroTensor(DType::kFloat32, {2, 3});
  Watcher watcher;
  const ScopedObserver watching(&watcher);
  ASSERT_TRUE(recorder.Barrier().ok());
  ASSERT_TRUE(recorder.Broadcast(x, 1).ok());
  ASSERT_TRUE(recorder.AllReduce(y).ok());
  ASSERT_TRUE(recorder.AllGather(x, y).ok());
  ASSERT_TRUE(recorder.Send(ZeroTensor(DType::kFloat64, {3}), 1).ok());
  ASSERT_TRUE(recorder.ReduceScatter(y, x).ok());
  ASSERT_TRUE(recorder.AllToAll(y, ZeroTensor(DType::kFloat32, {6})).ok());
  ASSERT_TRUE(recorder.Receive(x, 1).ok());
  EXPECT_THAT(watcher.events,
              ::testing::ElementsAre(
                  std::pair(Activity::kBarrier, 0), std::pair(Activity::kBroadcast, 12),
                  std::pair(Activity::kAllReduce, 24), std::pair(Activity::kAllGather, 12),
                  std::pair(Activity::kSend, 24), std::pair(Activity::kReduceScatter, 24),
                  std::pair(Activity::kAllToAll, 24), std::pair(Activity::kReceive, 12)));
}

TEST(CommunicatorTest, RanksShareOneHostUnlessToldOtherwise) {
  const Recorder recorder(1, 3, {});
  EXPECT_EQ(recorder.place().node_rank, 1);
  EXPECT_EQ(recorder.place().node_size, 3);
}

TEST(CommunicatorTest, BadArgumentsAreRefusedAndBreakTheGroup) {
  Recorder recorder(1, 2, {});
  const Tensor x = ZeroTensor(DType::kFloat32, {3}), y = ZeroTensor(DType::kFloat64, {6});
  const auto expect = [&](const absl::Status& status, const char* text) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
    EXPECT_EQ(recorder.aborted, status);
    EXPECT_TRUE(recorder.started.empty());
  };
  expect(recorder.AllReduce(Tensor()), "all-reduce: a tensor is empty");
  expect(recorder.Broadcast(x, 2), "broadcast: root 2 is not one of the 2 ranks");
  expect(recorder.Broadcast(x, -1), "root -1");
  expect(recorder.Barrier(std::chrono::milliseconds(0)), "barrier: the timeout must be positive");
  expect(recorder.AllGather(x, x), "the output has 3 float32, expected 2 times 3 float32");
  expect(recorder.AllGather(x, y), "the output has 6 float64, expected 2 times 3 float32");
  const Tensor half = *Tensor::Zeros(DType::kBfloat16, Shape{3});
  expect(recorder.AllReduce(half),
         "all-reduce: a tensor is bfloat16; ranks exchange float32, float64, uint8, int32 and "
         "int64: convert it, or send its bytes");
  expect(recorder.AllGather(x, *Tensor::Zeros(DType::kFloat16, Shape{6})),
         "all-gather: a tensor is float16;");
  expect(recorder.AllGather(Tensor(), y), "all-gather: a tensor is empty");
  expect(recorder.AllGather(x, Tensor()), "all-gather: a tensor is empty");
  const Tensor z = ZeroTensor(DType::kFloat32, {6});
  expect(recorder.ReduceScatter(x, x), "the input has 3 float32, expected 2 times 3 float32");
  expect(recorder.ReduceScatter(y, x), "the input has 6 float64, expected 2 times 3 float32");
  expect(recorder.ReduceScatter(z, z.Samples(0, 3, TensorFormat::kNHWC)),
         "reduce-scatter: the output overlaps the input without being its part number 1");
  expect(recorder.ReduceScatter(z, z.Samples(2, 3, TensorFormat::kNHWC)), "overlaps the input");
  expect(recorder.AllToAll(z, y),
         "all-to-all: the output has 6 float64, the input 6 float32; expected the same");
  expect(recorder.AllToAll(z, x), "the output has 3 float32, the input 6 float32");
  expect(recorder.AllToAll(x, ZeroTensor(DType::kFloat32, {3})),
         "all-to-all: 3 float32 are not 2 parts of one size");
  expect(recorder.AllToAll(z, z), "all-to-all: the tensors overlap");
  const Tensor eight = ZeroTensor(DType::kFloat32, {8});
  expect(recorder.AllToAll(eight.Samples(0, 6, TensorFormat::kNHWC),
                           eight.Samples(2, 6, TensorFormat::kNHWC)),
         "the tensors overlap");
  expect(recorder.Barrier(std::chrono::milliseconds(-1)),
         "barrier: the timeout must be positive, not -1 ms");
  expect(recorder.Send(x, -1), "send: -1 is not one of the 2 ranks");
  expect(recorder.Send(x, 2), "send: 2 is not one of the 2 ranks");
  expect(recorder.Receive(x, 1), "receive: rank 1 cannot send to itself");
  const Tensor pitched = testing::Pitched(ZeroTensor(DType::kFloat32, {4, 3}), TensorFormat::kNHWC);
  expect(recorder.AllReduceAsync(pitched)->Wait(), "has a pitch");
  const Tensor all = ZeroTensor(DType::kFloat32, {8, 3});
  expect(recorder.AllGatherAsync(pitched, all)->Wait(), "has a pitch");
  expect(recorder
             .AllGatherAsync(ZeroTensor(DType::kFloat32, {4, 3}),
                             testing::Pitched(all, TensorFormat::kNHWC))
             ->Wait(),
         "has a pitch");
}

}  // namespace
}  // namespace dtnn
