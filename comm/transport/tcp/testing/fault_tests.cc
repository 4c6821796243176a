#include "comm/transport/tcp/testing/fault_tests.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kGaveUp = 75, kVictim = 1, kFaultStep = 5, kSteps = 10;
constexpr int64_t kElements = 1 << 18;
constexpr std::chrono::seconds kTimeout(5);

// What one rank does:

struct Plan {
  std::string folder, fault, phase;
};

void MaybeFail(const Plan& plan, const char* phase, int rank) {
  if (rank != kVictim || plan.phase != phase) return;
  raise(plan.fault == "kill" ? SIGKILL : SIGSTOP);
}

// Returns when all ranks have come here: what the victim sent before has arrived. Once it is
// frozen, whatever its process has still to send stays there, and the others would wait for an
// earlier call.
void Assemble(const Plan& plan, const Communicator& c) {
  const auto file = [&](int rank) { return plan.folder + "/here" + std::to_string(rank); };
  std::ofstream(file(c.rank())).put('x');
  for (int rank = 0; rank < c.size(); ++rank) {
    while (!std::filesystem::exists(file(rank))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

std::atomic<bool> interrupted = false;

absl::Status Exchange(const Plan& plan, Communicator& c) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {kElements}));
  const Tensor y = Must(Tensor::Zeros(DType::kFloat32, {kElements}));
  for (int step = 0; step < kSteps; ++step) {
    if (step == kFaultStep) {
      Assemble(plan, c);
      MaybeFail(plan, "between", c.rank());
    }
    const std::unique_ptr<Work> first = c.AllReduceAsync(x);
    const std::unique_ptr<Work> second = c.AllReduceAsync(y);
    if (step == kFaultStep) MaybeFail(plan, "during", c.rank());
    if (step == kFaultStep) MaybeFail(plan, "interrupted", c.rank());
    if (step == kFaultStep && plan.phase == "interrupted") interrupted = true;
    for (Work* work : {first.get(), second.get()}) {
      if (absl::Status status = work->Wait(); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

int RunRank(const Plan& plan, const testing::Join& join) {
  CommunicatorOptions options;
  options.timeout = plan.phase == "interrupted" ? std::chrono::minutes(5) : kTimeout;
  options.interrupted = [] { return interrupted.load(); };
  options.grace = kTimeout / 2;
  CommunicatorOptions patient;
  patient.timeout = plan.phase == "end" ? 2 * kTimeout : std::chrono::minutes(1);
  const std::unique_ptr<ExchangeProcess> process = Must(join(patient));
  const int rank = process->rank();
  MaybeFail(plan, "start", rank);
  absl::StatusOr<std::unique_ptr<Communicator>> c = process->Connect(options);
  absl::Status status = c.ok() ? Exchange(plan, **c) : c.status();
  std::ofstream report(plan.folder + "/" + std::to_string(rank));
  if (c.ok()) {
    for (const int lost : (*c)->lost()) report << lost << " ";
    c->reset();
  }
  MaybeFail(plan, "end", rank);
  if (status.ok() && !process->finalizable()) status = absl::UnavailableError("a group broke");
  if (status.ok()) status = process->Finish();
  report << status << "\n";
  report.close();
  process->Flush();
  _exit(status.ok() ? 0 : kGaveUp);
}

// What the test does:

class RankFaultTest : public ::testing::TestWithParam<std::tuple<int, const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(
    Faults, RankFaultTest,
    ::testing::Combine(::testing::Values(2, 4), ::testing::Values("kill", "freeze"),
                       ::testing::Values("start", "between", "during", "interrupted", "end")),
    [](const auto& info) {
      return std::get<1>(info.param) + std::to_string(std::get<0>(info.param)) +
             std::get<2>(info.param);
    });

TEST_P(RankFaultTest, TheOthersLeaveAndNameTheLostRank) {
  const auto [ranks, fault, phase] = GetParam();
  const std::string folder = ::testing::TempDir() + "/" +
                             ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                             std::to_string(getpid());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  testing::RankProcesses processes(ranks, {folder, fault, phase});
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == kVictim) continue;
    EXPECT_EQ(processes.Wait(rank), kGaveUp) << "rank " << rank;
    std::ifstream file(folder + "/" + std::to_string(rank));
    const std::string report(std::istreambuf_iterator<char>(file), {});
    // All work was done: how far a rank came is a matter of chance.
    if (std::string(phase) == "end") continue;
    if (std::string(phase) != "start") {
      EXPECT_THAT(report, StartsWith("1 "));
    }
    if (std::string(fault) == "kill") {
      EXPECT_THAT(report, HasSubstr("rank 1 at "));
      EXPECT_THAT(report, HasSubstr(" is gone: its process ended"));
    } else {
      EXPECT_THAT(report, HasSubstr("rank 1, which does not answer (dead or frozen)"));
    }
  }
  if (std::string(fault) == "freeze") processes.Signal(kVictim, SIGCONT);
  const int victims = processes.Wait(kVictim);
  EXPECT_EQ(victims, std::string(fault) == "kill" ? 128 + SIGKILL : kGaveUp);
}

}  // namespace

int testing::RunFaultTests(int argc, char** argv, const Join& join) {
  if (IsRankProcess()) return RunRank({argv[1], argv[2], argv[3]}, join);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace dtnn
