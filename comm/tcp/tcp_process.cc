#include "comm/tcp/tcp_process.h"

#include <chrono>
#include <utility>

#include "comm/group/group_communicator.h"
#include "comm/tcp/tcp_engine.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// How long the others get to read this rank's last messages.
constexpr std::chrono::milliseconds kLastMoment(500);

}  // namespace

absl::StatusOr<std::unique_ptr<TcpProcess>> TcpProcess::Start(const CommunicatorOptions& options,
                                                              const RendezvousOptions& rendezvous,
                                                              const JobSecret& secret) {
  std::unique_ptr<TcpProcess> process(new TcpProcess(options));
  DTNN_ASSIGN_OR_RETURN(Mesh mesh, Meet(rendezvous, secret, options));
  process->engine_ = std::make_unique<TcpEngine>(std::move(mesh));
  return process;
}

TcpProcess::TcpProcess(const CommunicatorOptions& options) : options_(options) {}

TcpProcess::~TcpProcess() {
  if (engine_ != nullptr) Flush();
}

int TcpProcess::rank() const { return engine_->place().rank; }
int TcpProcess::size() const { return engine_->place().size; }

absl::StatusOr<std::unique_ptr<Communicator>> TcpProcess::Connect(
    const CommunicatorOptions& options, const TcpOptions& tcp) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, engine_->CreateGroup(options, tcp));
  return MakeGroupCommunicator(*engine_, std::move(group));
}

bool TcpProcess::finalizable() const { return !engine_->broken(); }

absl::Status TcpProcess::Finish() {
  return finalizable() ? engine_->Meet(options_) : absl::OkStatus();
}

void TcpProcess::Flush() { engine_->Close(std::chrono::steady_clock::now() + kLastMoment); }

}  // namespace dtnn
