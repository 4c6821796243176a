#include "models/observe/trace/simple_trace.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/count_allocations.h"

namespace dtnn {
namespace {

const std::vector<LayerFacts> kLayers = {
    {.id = 0, .name = "0_Input", .type = "Input"},
    {.id = 1,
     .name = "1_Conv2D",
     .type = "Conv2D",
     .algorithms = "forward winograd, backward_data gemm, backward_weights gemm",
     .first_gradient = 0,
     .last_gradient = 40},
    {.id = 2, .name = "2_Relu", .type = "Relu"},
    {.id = 12, .name = "12_FC", .type = "FC", .first_gradient = 48, .last_gradient = 100},
};

void Report(SimpleTrace& trace, Event event, int64_t nanoseconds) {
  event.begin = 1000;
  event.end = 1000 + nanoseconds;
  trace.End(event);
}

TEST(SimpleTraceTest, TheFileIsTheOriginals) {
  SimpleTrace trace(kLayers);
  for (const int64_t ns : {4'000'000, 1'000'000, 3'000'000, 2'000'000}) {
    Report(trace, {.activity = Activity::kForward, .layer = 1}, ns);
  }
  Report(trace, {.activity = Activity::kBackward, .layer = 1}, 500'000);
  Report(trace, {.activity = Activity::kForward, .layer = 2}, 20'000);
  Report(trace, {.activity = Activity::kInference, .layer = 12}, 1'000'000'000);
  Report(trace, {.activity = Activity::kExchange, .first = 41, .last = 100}, 7'000'000);
  Report(trace, {.activity = Activity::kWaitForGradients, .first = 30, .last = 100}, 8'000'000);
  Report(trace, {.activity = Activity::kUpdate, .first = 0, .last = 100}, 0);
  Report(trace, {.activity = Activity::kStep, .samples = 64}, 9'000'000);
  // The median of four times is element 2 of 0..3. Buckets count for the first layer that they hold
  // a part of.
  EXPECT_EQ(trace.Text(kLayers),
            "Event type;Event value;Event name;Calls;Total time;Median of times\n"
            "Model;6;01_Conv2D_forward;4;0.01;0.003\n"
            "Model;7;01_Conv2D_backward;1;0.0005;0.0005\n"
            "Model;9;01_Conv2D_wait_dw;1;0.008;0.008\n"
            "Model;10;01_Conv2D_update_dw;1;0.0;0.0\n"
            "Model;11;02_Relu_forward;1;2e-05;2e-05\n"
            "Model;61;12_FC_forward;1;1.0;1.0\n"
            "Model;63;12_FC_allreduce_dw;1;0.007;0.007\n"
            "Operations;39;001_Conv2D_backward_convgemm;1;0.0005;0.0005\n"
            "Operations;62;001_Conv2D_forward_convwinograd;4;0.01;0.003\n"
            "Operations;445;012_FC_allreduce_dw;1;0.007;0.007\n"
            "Operations;476;012_FC_forward_matmul;1;1.0;1.0\n");
  EXPECT_EQ(trace.dropped(), 0);
}

TEST(SimpleTraceTest, SumsAreExactWhereThereIsNoRoomForTimes) {
  SimpleTrace trace(kLayers, {.most_times = 3});
  for (int64_t i = 1; i <= 5; ++i) {
    Report(trace, {.activity = Activity::kForward, .layer = 2}, i * 1'000'000'000);
  }
  EXPECT_EQ(trace.dropped(), 2);
  EXPECT_NE(trace.Text(kLayers).find("Model;11;02_Relu_forward;5;15.0;2.0\n"), std::string::npos)
      << trace.Text(kLayers);
}

TEST(SimpleTraceTest, CallsWithoutRoomForTheirTimesTakeNoMemory) {
  SimpleTrace trace(kLayers, {.most_times = 3});
  for (int64_t i = 0; i < 1'000'000; ++i) {
    Report(trace, {.activity = Activity::kForward, .layer = 2}, 1000);
  }
  const testing::AllocationCounter counter;
  EXPECT_NE(trace.Text(kLayers).find(";1000000;"), std::string::npos);
  EXPECT_LT(counter.bytes(), 100'000);
}

// A meter of two lines, of 2 W and 3 W, that was read until nanosecond 10'000.
TEST(SimpleTraceTest, AMeterAddsTheOriginalsColumns) {
  SimpleTrace trace(kLayers, {.keep_begins = true});
  for (const int64_t nanoseconds : {1000, 3000, 10'000}) {
    Report(trace, {.activity = Activity::kForward, .layer = 12}, nanoseconds);
  }
  const MeasuredEnergy energy = {
      .lines = 2,
      .of = [](int64_t begin, int64_t end, std::span<double> joules) -> std::optional<int64_t> {
        if (end > 10'000) return std::nullopt;
        joules[0] = 2 * double(end - begin);
        joules[1] = 3 * double(end - begin);
        return (end - begin) / 1000;
      }};
  EXPECT_EQ(trace.Text(kLayers, &energy),
            "Event type;Event value;Event name;Calls;Total time;Median of times;Joules;Line0;Line1;"
            "Mean of intermediate power samples\n"
            "Model;61;12_FC_forward;3;1.4e-05;3e-06;20000.0;8000.0;12000.0;2.0\n"
            "Operations;476;012_FC_forward_matmul;3;1.4e-05;3e-06;20000.0;8000.0;12000.0;2.0\n");
}

TEST(SimpleTraceTest, OtherThreadsAndUnknownLayersDoNotCount) {
  SimpleTrace trace(kLayers);
  std::thread([&] { Report(trace, {.activity = Activity::kForward, .layer = 1}, 5); }).join();
  Report(trace, {.activity = Activity::kForward, .layer = 13}, 5);
  Report(trace, {.activity = Activity::kUpdate, .first = 100, .last = 200}, 5);
  EXPECT_EQ(trace.Text(kLayers),
            "Event type;Event value;Event name;Calls;Total time;Median of times\n");
}

}  // namespace
}  // namespace dtnn
