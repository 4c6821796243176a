#include "comm/ranks/exchange/exchange_process.h"

#include <chrono>
#include <utility>

#include "comm/ranks/exchange/exchange_engine.h"
#include "comm/ranks/group/group_communicator.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// How long the others get to read this rank's last messages.
constexpr std::chrono::milliseconds kLastMoment(500);

}  // namespace

ExchangeProcess::ExchangeProcess(const CommunicatorOptions& options, Mesh mesh)
    : options_(options), engine_(std::make_unique<ExchangeEngine>(std::move(mesh))) {}

ExchangeProcess::~ExchangeProcess() { Flush(); }

int ExchangeProcess::rank() const { return engine_->place().rank; }
int ExchangeProcess::size() const { return engine_->place().size; }

absl::StatusOr<std::unique_ptr<Communicator>> ExchangeProcess::Connect(
    const CommunicatorOptions& options, const ExchangeOptions& own) {
  DTNN_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, engine_->CreateGroup(options, own));
  return MakeGroupCommunicator(*engine_, std::move(group));
}

bool ExchangeProcess::finalizable() const { return !engine_->broken(); }

absl::Status ExchangeProcess::Finish() {
  return finalizable() ? engine_->Meet(options_) : absl::OkStatus();
}

void ExchangeProcess::Flush() { engine_->Close(std::chrono::steady_clock::now() + kLastMoment); }

}  // namespace dtnn
