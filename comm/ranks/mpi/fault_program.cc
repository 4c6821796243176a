// One rank of mpi_fault_test.sh and mpi_host_fault_test.sh: exchanges tensors until a rank is lost,
// on purpose.
//
//   fault_program FOLDER FAULT PHASE MIB: exchanges tensors of MIB MiB, four at a time; rank 1 does
//   FAULT (kill, freeze) to itself, or all ranks of rank 0's host do (kill_host; cut_host: after
//   their link was cut, as if the host had lost its power), in PHASE (start: before the group is
//   made; between: between two calls; during: with calls on their way; interrupted: likewise, and
//   the others, whose timeout is minutes, are asked to end; end: before MPI_Finalize). Every rank
//   that lives to see it writes what it saw to FOLDER/rank.<r> and leaves with 75; one that notices
//   nothing leaves with 0. MPI_Init may take its time.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/ranks/mpi/mpi_process.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

constexpr int kGaveUp = 75;
constexpr int kVictim = 1, kFaultStep = 20, kSteps = 40;

struct Plan {
  std::string folder, fault, phase;
  int64_t elements;
};

void MaybeFail(const Plan& plan, const char* phase, int rank) {
  if (rank != kVictim || plan.phase != phase) return;
  if (plan.fault == "kill") raise(SIGKILL);
  if (plan.fault == "freeze") raise(SIGSTOP);
}

void MaybeLoseHost(const Plan& plan, const char* phase, const RankPlace& place) {
  if (place.node != 0 || plan.phase != phase) return;
  if (plan.fault == "cut_host" && std::system("ip link set eth0 down") != 0) _exit(1);
  if (plan.fault == "kill_host" || plan.fault == "cut_host") raise(SIGKILL);
}

std::atomic<bool> interrupted = false;

absl::Status Exchange(const Plan& plan, Communicator& c) {
  const int64_t part = plan.elements / c.size();
  std::vector<Tensor> x;
  for (int i = 0; i < 5; ++i) {
    DTNN_ASSIGN_OR_RETURN(x.emplace_back(), Tensor::Zeros(DType::kFloat32, {c.size(), part}));
  }
  DTNN_ASSIGN_OR_RETURN(const Tensor sum, Tensor::Zeros(DType::kFloat32, {part}));
  for (int step = 0; step < kSteps; ++step) {
    if (step == kFaultStep) MaybeFail(plan, "between", c.rank());
    if (step == kFaultStep) MaybeLoseHost(plan, "between", c.place());
    std::vector<std::unique_ptr<Work>> works;
    works.push_back(c.AllReduceAsync(x[0]));
    works.push_back(c.AllReduceAsync(x[1]));
    works.push_back(c.ReduceScatterAsync(x[2], sum));
    works.push_back(c.AllToAllAsync(x[3], x[4]));
    if (step == kFaultStep) MaybeFail(plan, "during", c.rank());
    if (step == kFaultStep) MaybeLoseHost(plan, "during", c.place());
    if (step == kFaultStep) MaybeFail(plan, "interrupted", c.rank());
    if (step == kFaultStep && plan.phase == "interrupted") interrupted = true;
    // The last call first in every other step.
    if (step % 2 == kFaultStep % 2) std::ranges::reverse(works);
    for (const std::unique_ptr<Work>& work : works) DTNN_RETURN_IF_ERROR(work->Wait());
  }
  return absl::OkStatus();
}

// Writes down what was seen, unless all went well.
void Check(const Plan& plan, int rank, const absl::Status& status, const std::vector<int>& lost) {
  if (status.ok()) return;
  std::ofstream file(plan.folder + "/rank." + std::to_string(rank));
  file << "lost";
  for (int other : lost) file << " " << other;
  file << "\n" << status << "\n";
  file.close();
  std::cerr << "rank " << rank << ": " << status << std::endl;
}

int RunRank(const Plan& plan) {
  constexpr std::chrono::seconds kTimeout(5);
  CommunicatorOptions patient, options;
  std::atomic<bool> at_end = false;
  patient.interrupted = [&] { return at_end.load(); };
  patient.grace = kTimeout;
  options.timeout = plan.phase == "interrupted" ? std::chrono::minutes(5) : kTimeout;
  options.interrupted = [] { return interrupted.load(); };
  options.grace = kTimeout / 2;
  const char* const per_host = std::getenv("DTNN_MPI_RANKS_PER_HOST");
  absl::StatusOr<std::unique_ptr<MpiProcess>> process =
      MpiProcess::Start(patient, per_host == nullptr ? 0 : std::atoi(per_host));
  if (!process.ok()) _exit(1);
  const int rank = (*process)->rank();
  std::ofstream(plan.folder + "/pid." + std::to_string(rank)) << getpid() << "\n";
  MaybeFail(plan, "start", rank);
  absl::StatusOr<std::unique_ptr<Communicator>> c = (*process)->Connect(options);
  const absl::Status status = c.ok() ? Exchange(plan, **c) : c.status();
  Check(plan, rank, status, c.ok() ? (*c)->lost() : std::vector<int>());
  if (c.ok()) c->reset();
  MaybeFail(plan, "end", rank);
  at_end = true;
  if (!(*process)->finalizable()) {
    (*process)->Flush();
    _exit(kGaveUp);
  }
  if (const absl::Status finished = (*process)->Finish(); !finished.ok()) {
    std::cerr << finished.message() << std::endl;
    _exit(kGaveUp);
  }
  return status.ok() ? 0 : kGaveUp;
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: fault_program FOLDER FAULT PHASE MIB\n");
    return 2;
  }
  return dtnn::RunRank({argv[1], argv[2], argv[3], std::atoll(argv[4]) << 18});
}
