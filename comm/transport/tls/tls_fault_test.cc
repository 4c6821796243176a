// What goes wrong between ranks over TLS: a rank that is killed or frozen while they exchange, and
// callers that begin no handshake or half of one. The program starts itself as the ranks.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/transport/tcp/rendezvous.h"
#include "comm/transport/tcp/testing/rank_processes.h"
#include "comm/transport/tcp/testing/tcp_process.h"
#include "comm/transport/tls/testing/host_files.h"
#include "comm/transport/tls/tls_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr int kGaveUp = 75, kRanks = 3, kVictim = 1, kSteps = 10;
constexpr std::chrono::seconds kTimeout(5);

std::string NewFiles(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  testing::WriteHostFiles(folder);
  return folder;
}

// What one rank does:

absl::Status Exchange(Communicator& c, int signal) {
  const Tensor x = Must(Tensor::Zeros(DType::kFloat32, {1 << 18}));
  for (int step = 0; step < kSteps; ++step) {
    const std::unique_ptr<Work> work = c.AllReduceAsync(x);
    if (step == kSteps / 2 && c.rank() == kVictim) raise(signal);
    if (absl::Status status = work->Wait(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int RunRank(const std::string& folder, int signal) {
  CommunicatorOptions patient, options;
  patient.timeout = std::chrono::minutes(1);
  options.timeout = kTimeout;
  const std::unique_ptr<ExchangeProcess> process =
      Must(testing::JoinByTcp(Must(TlsStreams(testing::HostFiles(folder))))(patient));
  absl::StatusOr<std::unique_ptr<Communicator>> c = process->Connect(options);
  const absl::Status status = c.ok() ? Exchange(**c, signal) : c.status();
  std::ofstream(folder + "/" + std::to_string(process->rank())) << status << "\n";
  process->Flush();
  _exit(status.ok() ? 0 : kGaveUp);
}

// What the test does:

class TlsFaultTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Faults, TlsFaultTest, ::testing::Values(SIGKILL, SIGSTOP),
                         [](const auto& info) {
                           return info.param == SIGKILL ? "Kill" : "Freeze";
                         });

TEST_P(TlsFaultTest, TheOthersLeaveAndNameTheLostRank) {
  const int signal = GetParam();
  const std::string folder = NewFiles("fault" + std::to_string(signal));
  testing::RankProcesses processes(kRanks, {folder, std::to_string(signal)});
  for (const int rank : {0, 2}) {
    EXPECT_EQ(processes.Wait(rank), kGaveUp) << "rank " << rank;
    std::ifstream file(folder + "/" + std::to_string(rank));
    const std::string report(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(report,
                HasSubstr(signal == SIGKILL ? " is gone: its process ended"
                                            : "rank 1, which does not answer (dead or frozen)"));
  }
  if (signal == SIGSTOP) processes.Signal(kVictim, SIGCONT);
  EXPECT_EQ(processes.Wait(kVictim), signal == SIGKILL ? 128 + SIGKILL : kGaveUp);
}

TEST(TlsSilentCallersTest, TheyDoNotKeepTheRanksFromMeeting) {
  const StreamMaker streams = Must(TlsStreams(testing::HostFiles(NewFiles("callers"))));
  Socket listener = Must(Listen({"127.0.0.1", 0}));
  const Endpoint address = Must(listener.Local());
  std::vector<Socket> callers;
  for (int i = 0; i < 140; ++i) {
    Socket caller = Must(StartConnecting(Must(Resolve(address)).front()));
    pollfd descriptor = {caller.descriptor(), POLLOUT, 0};
    poll(&descriptor, 1, -1);
    // Nothing, or the beginning of a greeting that never ends.
    if (i % 2 == 1) send(caller.descriptor(), "\x16\x03\x01\x02\x00\x01", 6, MSG_NOSIGNAL);
    callers.push_back(std::move(caller));
  }
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  CommunicatorOptions patience;
  patience.timeout = std::chrono::minutes(1);
  std::vector<absl::Status> statuses(kRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    RendezvousOptions options = {
        .rank = rank, .size = kRanks, .address = address, .stream = streams};
    if (rank == 0) options.listener = listener.Release();
    ranks.emplace_back(
        [&, rank, options] { statuses[size_t(rank)] = Meet(options, secret, patience).status(); });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const absl::Status& status : statuses) EXPECT_EQ(status, absl::OkStatus());
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (dtnn::testing::IsRankProcess()) return dtnn::RunRank(argv[1], std::atoi(argv[2]));
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
