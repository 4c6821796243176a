// The conformance suite's second part: calls that differ, ranks that fail, leave, or come late.

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "comm/testing/communicator_conformance.h"
#include "comm/testing/conformance_checks.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using testing::Expect;
using testing::Now;
using testing::ZeroTensor;

// Long enough that only a real fault meets it, short enough for a test that waits for it.
constexpr milliseconds kShort(2000);

absl::Status ExpectError(const absl::Status& status, absl::StatusCode code,
                         const std::string& text) {
  if (status.code() == code && status.message().find(text) != absl::string_view::npos) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat("expected \"", text, "\", not: ", status.ToString()));
}

// What the calls below take.
struct Parts {
  explicit Parts(const Communicator& c)
      : part(ZeroTensor(DType::kFloat32, {20011})),
        input(ZeroTensor(DType::kFloat32, {c.size(), 20011})),
        output(ZeroTensor(DType::kFloat32, {c.size(), 20011})) {}
  Tensor part, input, output;
};

using Timeout = Communicator::Timeout;
using Call = absl::Status (*)(Communicator&, const Parts&, Timeout);

absl::Status Sum(Communicator& c, const Parts& x, Timeout timeout) {
  return c.AllReduce(x.input, ReduceOp::kSum, timeout);
}
absl::Status ScatterSum(Communicator& c, const Parts& x, Timeout timeout) {
  return c.ReduceScatter(x.input, x.part, ReduceOp::kSum, timeout);
}
absl::Status Exchange(Communicator& c, const Parts& x, Timeout timeout) {
  return c.AllToAll(x.input, x.output, timeout);
}

// All ranks come together, then call. One that meets an error in its call may break the group while
// others are still on their way out of the barrier, which then gives them the same error.
absl::Status TogetherThen(Communicator& c, absl::FunctionRef<absl::Status()> call) {
  const absl::Status status = c.Barrier(std::chrono::minutes(1));
  return status.ok() ? call() : status;
}

// The options under which calls that differ are found.
CommunicatorOptions Checked() {
  CommunicatorOptions options;
  options.timeout = std::chrono::minutes(1);
  options.check_calls = true;
  return options;
}

TEST_P(CommunicatorConformance, MismatchesNameBothSidesOnAllRanks) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  const auto expect = [&](const std::string& text,
                          const std::function<absl::Status(Communicator&)>& call) {
    EXPECT_EQ(
        absl::OkStatus(),
        Run(
            [&](Communicator& c) {
              const absl::Status status = TogetherThen(c, [&] { return call(c); });
              DTNN_RETURN_IF_ERROR(ExpectError(status, absl::StatusCode::kInvalidArgument, text));
              DTNN_RETURN_IF_ERROR(Expect(c.lost().empty(), "lost"));
              return Expect(c.Barrier() == status, "the group is not broken");
            },
            Checked()));
  };
  expect("collective number 1 differs between ranks", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(DType::kFloat32, {c.rank() == 1 ? 4 : 3}));
  });
  expect("rank 1 called all-reduce of 4 float32", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(DType::kFloat32, {c.rank() == 1 ? 4 : 3}));
  });
  expect("rank 0 called all-reduce of 3 float64", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(c.rank() == 0 ? DType::kFloat64 : DType::kFloat32, {3}));
  });
  expect("rank 1 called all-reduce (maximum) of 3 float32", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(DType::kFloat32, {3}),
                       c.rank() == 1 ? ReduceOp::kMax : ReduceOp::kMin);
  });
  const Tensor part = ZeroTensor(DType::kInt32, {3}),
               parts = ZeroTensor(DType::kInt32, {ranks(), 3});
  const std::string size = absl::StrCat(" of ", 3 * ranks(), " int32");
  expect("rank 1 called reduce-scatter (maximum)" + size, [&](Communicator& c) {
    const ReduceOp op = c.rank() == 1 ? ReduceOp::kMax : ReduceOp::kMin;
    return c.ReduceScatter(parts, part, op);
  });
  expect("rank 1 called all-to-all" + size, [&](Communicator& c) {
    const Tensor all = ZeroTensor(DType::kInt32, {ranks(), 3});
    return c.rank() == 1 ? c.AllToAll(parts, all) : c.ReduceScatter(all, part);
  });
  expect(absl::StrCat("rank 1 called all-to-all of ", 4 * ranks(), " int32"), [&](Communicator& c) {
    const Shape shape = {ranks(), c.rank() == 1 ? 4 : 3};
    return c.AllToAll(ZeroTensor(DType::kInt32, shape), ZeroTensor(DType::kInt32, shape));
  });
  expect("rank 1 called barrier", [](Communicator& c) {
    return c.rank() == 1 ? c.Barrier() : c.Broadcast(ZeroTensor(DType::kFloat32, {3}), 0);
  });
  expect("broadcast of 3 float32 from rank 1", [](Communicator& c) {
    return c.Broadcast(ZeroTensor(DType::kFloat32, {3}), c.rank() == 1 ? 1 : 0);
  });
  expect("message number 0 from rank 0 to rank 1 differs", [](Communicator& c) {
    const Tensor x = ZeroTensor(DType::kInt32, {3 + c.rank()});
    if (c.rank() > 1) return c.Barrier();
    return c.rank() == 0 ? c.Send(x, 1) : c.Receive(x, 0);
  });
}

TEST_P(CommunicatorConformance, ABadArgumentOnOneRankReachesTheOthers) {
  const int last = ranks() - 1;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor x = ZeroTensor(DType::kFloat32, {3});
              const absl::Status status = c.AllReduce(c.rank() == last ? Tensor() : x);
              DTNN_RETURN_IF_ERROR(Expect(!c.Barrier().ok() && !c.AllReduce(x).ok(), "not broken"));
              return ExpectError(status, absl::StatusCode::kInvalidArgument,
                                 "all-reduce: a tensor is empty");
            }));
}

TEST_P(CommunicatorConformance, GivingUpTellsTheOthersWhy) {
  const int last = ranks() - 1;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              if (c.rank() == last) c.Abort(absl::DataLossError("image 7 is corrupt"));
              const Tensor x = ZeroTensor(DType::kFloat32, {5});
              const absl::Status status = c.AllReduce(x);
              DTNN_RETURN_IF_ERROR(Expect(c.lost() == std::vector<int>{last}, "lost"));
              DTNN_RETURN_IF_ERROR(Expect(c.Barrier() == status, "the group is not broken"));
              const Tensor all = ZeroTensor(DType::kFloat32, {ranks(), 5});
              const Tensor other = ZeroTensor(DType::kFloat32, {ranks(), 5});
              for (const absl::Status& later :
                   {c.AllGather(x, all), c.ReduceScatter(all, x), c.AllToAll(all, other)}) {
                DTNN_RETURN_IF_ERROR(Expect(later == status, "the group is not broken"));
              }
              return ExpectError(status, absl::StatusCode::kDataLoss,
                                 absl::StrCat("rank ", last, " gave up: image 7 is corrupt"));
            }));
}

TEST_P(CommunicatorConformance, GivingUpEndsCallsOnTheirWay) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  const int last = ranks() - 1;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Parts first(c), second(c);
              const absl::Status status = TogetherThen(c, [&] {
                if (c.rank() == last) c.Abort(absl::DataLossError("image 7 is corrupt"));
                const std::unique_ptr<Work> sum = c.ReduceScatterAsync(first.input, first.part);
                const std::unique_ptr<Work> all = c.AllToAllAsync(second.input, second.output);
                const absl::Status end = all->Wait();
                return sum->Wait() == end ? end : absl::InternalError("pending calls differ");
              });
              return ExpectError(status, absl::StatusCode::kDataLoss, "image 7 is corrupt");
            }));
}

TEST_P(CommunicatorConformance, ARankThatLeavesIsMissedAtOnce) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  const int last = ranks() - 1;
  for (const Call& call : {Sum, ScatterSum, Exchange}) {
    EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
                const Parts parts(c);
                if (c.rank() == last) return c.Barrier();
                DTNN_RETURN_IF_ERROR(
                    ExpectError(TogetherThen(c, [&] { return call(c, parts, std::nullopt); }),
                                absl::StatusCode::kUnavailable,
                                absl::StrCat("rank ", last, " left before collective")));
                return Expect(c.lost() == std::vector<int>{last}, "lost");
              }));
  }
}

TEST_P(CommunicatorConformance, ASenderThatLeavesIsMissedAtOnce) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor x = ZeroTensor(DType::kInt32, {2});
              if (c.rank() == 1) return c.Send(x, 0);
              if (c.rank() > 1) return absl::OkStatus();
              DTNN_RETURN_IF_ERROR(c.Receive(x, 1));
              return ExpectError(c.Receive(x, 1), absl::StatusCode::kUnavailable,
                                 "rank 1 left before message number 1 from rank 1");
            }));
}

TEST_P(CommunicatorPatience, ALateRankIsWarnedAboutAndThenGivenUp) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  const int last = ranks() - 1;
  std::atomic<int> warnings{0}, good_warnings{0};
  CommunicatorOptions options;
  options.timeout = kShort;
  options.warn_after = kShort / 2;
  const std::string text = absl::StrCat("for rank ", last, ", which did not call it");
  options.warn = [&](std::string_view line) {
    warnings += line.find("all-reduce") != line.npos;
    good_warnings += line.find(text) != line.npos && line.find("all-reduce of 8") != line.npos &&
                     line.find("has waited") != line.npos && line.find("gives up") != line.npos;
  };
  std::atomic<int> waited{0};
  EXPECT_EQ(absl::OkStatus(), Run(
                                  [&](Communicator& c) {
                                    const absl::Status status = TogetherThen(c, [&] {
                                      if (c.rank() == last) {
                                        c.AwaitDeparture(0, std::chrono::minutes(1));
                                        return c.Barrier();
                                      }
                                      ++waited;
                                      return c.AllReduce(ZeroTensor(DType::kFloat32, {8}));
                                    });
                                    DTNN_RETURN_IF_ERROR(ExpectError(
                                        status, absl::StatusCode::kDeadlineExceeded, text));
                                    return Expect(c.lost() == std::vector<int>{last}, "lost");
                                  },
                                  options));
  // The first rank that gives up, on a busy machine, may be earlier than another's warning.
  EXPECT_LE(warnings, waited);
  EXPECT_EQ(good_warnings, warnings);
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor all = testing::TensorOf(DType::kInt32, {1}, {double(warnings)});
              DTNN_RETURN_IF_ERROR(c.AllReduce(all));
              return Expect(*all.data<int32_t>() > 0, "nobody warned");
            }));
}

TEST_P(CommunicatorPatience, ALateRankIsGivenUpInCallsOfParts) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  const int last = ranks() - 1;
  for (const Call& call : {ScatterSum, Exchange}) {
    EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
                const Parts parts(c);
                const absl::Status status = TogetherThen(c, [&] {
                  if (c.rank() != last) return call(c, parts, kShort);
                  c.AwaitDeparture(0, std::chrono::minutes(1));
                  return c.Barrier();
                });
                DTNN_RETURN_IF_ERROR(
                    ExpectError(status, absl::StatusCode::kDeadlineExceeded,
                                absl::StrCat("for rank ", last, ", which did not call it")));
                return Expect(c.lost() == std::vector<int>{last}, "lost");
              }));
  }
}

TEST_P(CommunicatorPatience, AnInterruptedRankWaitsForThoseWhoAreOnlySlow) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  // Only once all have met: a rank that is interrupted before gives up joining, and that may take
  // long on a busy machine.
  std::atomic<bool> interrupted{false};
  CommunicatorOptions options = Options();
  options.interrupted = [&] { return interrupted.load(); };
  options.grace = kShort;
  EXPECT_EQ(absl::OkStatus(), Run(
                                  [&](Communicator& c) {
                                    DTNN_RETURN_IF_ERROR(c.Barrier());
                                    interrupted = true;
                                    if (c.rank() == ranks() - 1)
                                      c.AwaitDeparture(0, kShort * 3 / 2);
                                    return c.AllReduce(ZeroTensor(DType::kFloat32, {8}));
                                  },
                                  options));
}

TEST_P(CommunicatorConformance, ADepartureIsAwaited) {
  std::atomic<double> left{0}, returned{1e300};
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              DTNN_RETURN_IF_ERROR(c.Barrier());
              for (const int nobody : {-1, c.rank(), ranks()}) {
                DTNN_RETURN_IF_ERROR(
                    Expect(c.AwaitDeparture(nobody) == std::nullopt, "a departure of nobody"));
              }
              if (c.rank() == 0) {
                for (const double begin = Now(); Now() < begin + 5e7;) continue;
                c.set_departure_code(3);
                c.set_departure_code(7);
                left = Now();
                return absl::OkStatus();
              }
              const std::optional<int32_t> code = c.AwaitDeparture(0);
              if (c.rank() == 1) returned = Now();
              DTNN_RETURN_IF_ERROR(Expect(code == 7, "departure code"));
              return Expect(c.lost().empty(), "lost");
            }));
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor latest = testing::TensorOf(DType::kFloat64, {1}, {left});
              const Tensor earliest = testing::TensorOf(DType::kFloat64, {1}, {returned});
              DTNN_RETURN_IF_ERROR(c.AllReduce(latest, ReduceOp::kMax));
              DTNN_RETURN_IF_ERROR(c.AllReduce(earliest, ReduceOp::kMin));
              DTNN_RETURN_IF_ERROR(
                  Expect(*latest.data<double>() <= *earliest.data<double>(), "returned early"));
              return Expect(c.rank() == 0 || c.AwaitDeparture(0) == 0, "code that nobody has set");
            }));
}

TEST_P(CommunicatorConformance, ADepartureIsAwaitedAfterTheGroupBroke) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              c.Abort(absl::CancelledError("enough"));
              if (c.rank() > 0) c.AwaitDeparture(0);
              return absl::OkStatus();
            }));
}

}  // namespace
}  // namespace dtnn
