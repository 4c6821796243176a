// Captures on a simulated GPU: what becomes a graph, and what CUDA would refuse.

#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/simulated/simulated_driver.h"

namespace dtnn::gpu {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kCount = 100;
constexpr size_t kBytes = kCount * sizeof(int32_t);

struct AddScaled {
  const int32_t* x;
  int32_t factor;
  int32_t* y;

  void Declare(int64_t n, Accesses& accesses) {
    accesses.Reads(x, n);
    accesses.Writes(y, n);
  }
  void operator()(int64_t i) const { y[i] += factor * x[i]; }
};

std::string Message(const absl::Status& status) { return std::string(status.message()); }

class CaptureTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  CaptureTest() {
    EXPECT_EQ(stream_->Fill(x_, 1, kBytes), absl::OkStatus());
    EXPECT_EQ(stream_->Fill(y_, 0, kBytes), absl::OkStatus());
    EXPECT_EQ(stream_->Fill(z_, 0, kBytes), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
  }

  int32_t* Device(const char* what) { return static_cast<int32_t*>(*gpu_->Allocate(kBytes, what)); }
  absl::Status Add(Stream& stream, const int32_t* x, int32_t factor, int32_t* y) {
    return ForEach(stream, "add", kCount, AddScaled{x, factor, y});
  }
  int32_t ValueOf(const int32_t* device) {
    EXPECT_EQ(stream_->Copy(out_, device, kBytes), absl::OkStatus());
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
    for (int64_t i = 1; i < kCount; ++i) EXPECT_EQ(out_[i], out_[0]);
    return out_[0];
  }
  // Begins a capture, does `wrong`, which is refused, and ends the capture, which is spoiled.
  template <class Wrong>
  std::string Spoiled(const Wrong& wrong) {
    EXPECT_EQ(stream_->BeginCapture(), absl::OkStatus());
    const absl::Status status = wrong();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(Message(Add(*stream_, x_, 1, y_)), HasSubstr("StreamCaptureInvalidated"));
    EXPECT_THAT(Message(stream_->EndCapture().status()), HasSubstr("StreamCaptureInvalidated"));
    EXPECT_EQ(Add(*stream_, x_, 1, y_), absl::OkStatus());  // and the stream works again
    EXPECT_EQ(stream_->Synchronize(), absl::OkStatus());
    return Message(status);
  }

  static constexpr int32_t kOne = 0x01010101;
  std::unique_ptr<Driver> driver_ = CreateSimulatedDriver({.seed = GetParam()});
  std::unique_ptr<Gpu> gpu_ = *driver_->Open(0);
  std::unique_ptr<Stream> stream_ = *gpu_->CreateStream("main");
  std::unique_ptr<Stream> other_ = *gpu_->CreateStream("other");
  std::unique_ptr<Event> fork_ = *gpu_->CreateEvent(), join_ = *gpu_->CreateEvent();
  int32_t *x_ = Device("x"), *y_ = Device("y"), *z_ = Device("z");
  int32_t* out_ = static_cast<int32_t*>(*gpu_->AllocatePinned(kBytes, "out"));
};

TEST_P(CaptureTest, RunsWhenItIsReplayedWithTheArgumentsOfThen) {
  int32_t factor = 2;
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(Add(*stream_, x_, factor, y_), absl::OkStatus());
  factor = 5;
  const auto graph = stream_->EndCapture();
  ASSERT_EQ(graph.status(), absl::OkStatus());
  EXPECT_EQ(ValueOf(y_), 0);
  for (int replay = 1; replay <= 3; ++replay) {
    ASSERT_EQ(stream_->Replay(**graph), absl::OkStatus());
    EXPECT_EQ(ValueOf(y_), replay * 2 * kOne);
  }
}

TEST_P(CaptureTest, StreamsForkAndJoin) {
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(Add(*stream_, x_, 1, y_), absl::OkStatus());  // y = 1
  ASSERT_EQ(stream_->Record(*fork_), absl::OkStatus());
  ASSERT_EQ(other_->Wait(*fork_), absl::OkStatus());
  ASSERT_EQ(Add(*other_, y_, 2, z_), absl::OkStatus());   // z = 2 y
  ASSERT_EQ(Add(*stream_, y_, 1, x_), absl::OkStatus());  // x = 1 + y, at the same time
  ASSERT_EQ(other_->Record(*join_), absl::OkStatus());
  ASSERT_EQ(stream_->Wait(*join_), absl::OkStatus());
  ASSERT_EQ(Add(*stream_, z_, 10, x_), absl::OkStatus());  // x = 1 + y + 10 z
  const auto graph = stream_->EndCapture();
  ASSERT_EQ(graph.status(), absl::OkStatus());
  ASSERT_EQ(stream_->Replay(**graph), absl::OkStatus());
  EXPECT_EQ(ValueOf(x_), 22 * kOne);
  // The other stream is free again.
  EXPECT_EQ(other_->Synchronize(), absl::OkStatus());
}

TEST_P(CaptureTest, AMissingJoinInsideIsFound) {
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(stream_->Record(*fork_), absl::OkStatus());
  ASSERT_EQ(other_->Wait(*fork_), absl::OkStatus());
  ASSERT_EQ(Add(*other_, x_, 2, z_), absl::OkStatus());
  EXPECT_THAT(Message(Add(*stream_, z_, 1, y_)), HasSubstr("nothing orders the two"));
  EXPECT_THAT(Message(stream_->EndCapture().status()), HasSubstr("cudaErrorStreamCaptureUnjoined"));
}

TEST_P(CaptureTest, AReplayIsAnOperationLikeOthers) {
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(Add(*stream_, x_, 1, y_), absl::OkStatus());
  const auto graph = *stream_->EndCapture();
  ASSERT_EQ(stream_->Replay(*graph), absl::OkStatus());
  EXPECT_THAT(Message(other_->Fill(y_, 0, kBytes)),
              HasSubstr("which the graph captured on stream main on stream main writes"));
  ASSERT_EQ(gpu_->Free(y_), absl::OkStatus());
  EXPECT_THAT(Message(stream_->Replay(*graph)),
              HasSubstr("400 bytes of device memory for \"y\", which has been freed"));
}

TEST_P(CaptureTest, WhatCudaForbidsSpoilsTheCapture) {
  ASSERT_EQ(stream_->Record(*join_), absl::OkStatus());  // outside
  EXPECT_THAT(Spoiled([&] { return stream_->Synchronize(); }),
              HasSubstr("cudaErrorStreamCaptureUnsupported, 900"));
  EXPECT_THAT(Spoiled([&] { return other_->Synchronize(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return gpu_->Synchronize(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return stream_->Query().status(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return join_->Query().status(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return join_->Synchronize(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return gpu_->Allocate(1, "more").status(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return gpu_->AllocatePinned(1, "more").status(); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return gpu_->Free(z_); }), HasSubstr("900"));
  EXPECT_THAT(Spoiled([&] { return stream_->Wait(*join_); }),
              HasSubstr("cudaErrorStreamCaptureIsolation, 905"));
}

TEST_P(CaptureTest, OtherThreadsMayGoOn) {
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  std::thread([&] {
    EXPECT_EQ(other_->Synchronize(), absl::OkStatus());
    EXPECT_TRUE(gpu_->Allocate(1, "more").ok());
    EXPECT_THAT(Message(stream_->EndCapture().status()), HasSubstr("WrongThread, 908"));
  }).join();
  EXPECT_FALSE(stream_->EndCapture().ok());
}

TEST_P(CaptureTest, EventsOfACaptureStayInside) {
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  ASSERT_EQ(stream_->Record(*fork_), absl::OkStatus());
  const auto graph = *stream_->EndCapture();
  EXPECT_THAT(Message(fork_->Synchronize()), HasSubstr("cudaErrorCapturedEvent, 907"));
  EXPECT_THAT(Message(other_->Wait(*fork_)), HasSubstr("cudaErrorCapturedEvent, 907"));
  ASSERT_EQ(stream_->Record(*fork_), absl::OkStatus());  // recorded again: an event like others
  EXPECT_EQ(other_->Wait(*fork_), absl::OkStatus());
}

TEST_P(CaptureTest, BeginAndEndBelongTogether) {
  EXPECT_THAT(Message(stream_->EndCapture().status()), HasSubstr("not begun"));
  ASSERT_EQ(stream_->BeginCapture(), absl::OkStatus());
  EXPECT_THAT(Message(stream_->BeginCapture()), HasSubstr("cudaErrorIllegalState"));
  ASSERT_EQ(stream_->Record(*fork_), absl::OkStatus());
  ASSERT_EQ(other_->Wait(*fork_), absl::OkStatus());
  EXPECT_THAT(Message(other_->EndCapture().status()), HasSubstr("StreamCaptureUnmatched, 903"));
  stream_ = nullptr;  // destroyed: the other stream is set free
  EXPECT_EQ(other_->Synchronize(), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CaptureTest, ::testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace dtnn::gpu
