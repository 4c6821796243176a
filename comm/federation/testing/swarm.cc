#include "comm/federation/testing/swarm.h"

#include <poll.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "comm/federation/meeting.h"
#include "comm/wait.h"
#include "tensor/errors.h"
#include "tensor/must.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMostFrame = 64 << 20;
constexpr int kFramesPerTurn = 2;

}  // namespace

Swarm::Swarm(const ClientOptions& client, const JobSecret& secret)
    : options_(client),
      secret_(secret),
      protector_(Must(Protector::Create(client.protection, size_t(client.model.values)))),
      numbers_(size_t(client.model.values)) {
  for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = 0.1f * std::sin(float(i));
}

absl::Status Swarm::Add(int clients) {
  for (int i = 0; i < clients; ++i) {
    Wait wait({.timeout = options_.timeout});
    DTNN_ASSIGN_OR_RETURN(Link link, CallAggregator(options_.place, secret_, wait));
    Client& client = clients_.emplace_back();
    client.options = options_;
    client.options.name += StrCat("-", clients_.size());
    client.drops_out = int(clients_.size()) <= drop_outs_;
    client.channel = std::make_unique<Channel>(std::move(link.stream), link.address);
    client.channel->KeepBuffersShort();  // hosts of their own would have more
    client.channel->Send(FrameKind::kHello, 0, 0,
                         ToBytes(Hello{.name = client.options.name,
                                       .model = client.options.model,
                                       .samples = client.options.samples,
                                       .protection = protector_.ToString(),
                                       .steps = client.options.steps}));
    DTNN_RETURN_IF_ERROR(client.channel->Write());
  }
  return Run([this] { return std::ranges::all_of(clients_, &Client::welcomed); });
}

absl::Status Swarm::Run(const std::function<bool()>& done) {
  while (done ? !done() : !std::ranges::all_of(clients_, &Client::over)) {
    DTNN_RETURN_IF_ERROR(Turn(milliseconds(100)));
  }
  return absl::OkStatus();
}

absl::Status Swarm::ForEach(const std::vector<Client*>& clients,
                            const std::function<absl::Status(Client&)>& body) {
  std::vector<absl::Status> statuses(clients.size());
  ParallelFor(0, int64_t(clients.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto i = size_t(begin); i < size_t(end); ++i) {
      statuses[i] = WithContext(body(*clients[i]), clients[i]->options.name);
    }
  });
  for (const absl::Status& status : statuses) DTNN_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

std::vector<Swarm::Client*> Swarm::Senders() {
  auto senders = std::ranges::count_if(clients_, &Client::sends);
  std::vector<Client*> can_send;
  for (Client& client : clients_) {
    if (client.over || !client.chunk || !client.channel->flushed()) continue;
    if (!client.sends && senders < most_senders_) {
      client.sends = true;
      ++senders;
    }
    if (client.sends) can_send.push_back(&client);
  }
  return can_send;
}

absl::Status Swarm::Turn(milliseconds most) {
  const std::vector<Client*> senders = Senders();
  DTNN_RETURN_IF_ERROR(ForEach(senders, [this](Client& client) { return SendChunks(client); }));
  if (!senders.empty()) most = milliseconds(0);  // others may send now
  std::vector<pollfd> descriptors;
  std::vector<Client*> there;
  for (Client& client : clients_) {
    if (client.over) continue;
    descriptors.push_back({client.channel->descriptor(), client.channel->events(), 0});
    there.push_back(&client);
  }
  PollUntil(descriptors, std::chrono::steady_clock::now() + most);
  std::vector<Client*> heard;
  for (size_t i = 0; i < there.size(); ++i) {
    if (descriptors[i].revents != 0) heard.push_back(there[i]);
  }
  return ForEach(heard, [this](Client& client) { return Hear(client); });
}

absl::Status Swarm::Hear(Client& client) const {
  const auto allowed = [](const FrameHeader&) { return std::optional(kMostFrame); };
  // The others have their turn before it hears more.
  for (int frames = 0; !client.over && frames < kFramesPerTurn; ++frames) {
    DTNN_ASSIGN_OR_RETURN(std::optional<Frame> frame, client.channel->Receive(allowed));
    if (!frame) break;
    DTNN_RETURN_IF_ERROR(Take(client, *std::move(frame)));
  }
  if (client.over) {
    client.bytes_sent = client.channel->bytes_sent();
    client.bytes_received = client.channel->bytes_received();
    client.channel.reset();
    return absl::OkStatus();
  }
  return client.channel->Write();
}

absl::Status Swarm::Take(Client& client, Frame frame) const {
  switch (frame.header.kind) {
    case FrameKind::kWelcome: {
      DTNN_ASSIGN_OR_RETURN(client.welcome, WelcomeFromBytes(frame.body));
      client.welcomed = true;
      return absl::OkStatus();
    }
    case FrameKind::kRefusal:
      return FailedPrecondition("is refused: ", TextFromBytes(frame.body));
    case FrameKind::kRound: {
      const auto send = [&client](FrameKind kind, uint64_t attempt, uint32_t index, Bytes body) {
        client.channel->Send(kind, attempt, index, std::move(body));
      };
      DTNN_ASSIGN_OR_RETURN(ClientRound round,
                            ClientRound::Begin(frame, {client.options, protector_, secret_,
                                                       client.welcome.nonce, send}));
      client.round.emplace(std::move(round));
      client.answered = client.sends = false;
      client.chunk.reset();
      break;
    }
    case FrameKind::kParameters:
      frame.body.clear();  // nobody reads them
      [[fallthrough]];
    default:
      if (!client.round) return absl::OkStatus();
      DTNN_RETURN_IF_ERROR(client.round->Take(std::move(frame)));
  }
  if (!client.answered && client.round->accepted()) {
    client.answered = true;
    client.accepted += *client.round->accepted() ? 1 : 0;
  }
  const bool ready = client.round->state() == ClientRound::State::kReady;
  client.over = ready && client.round->over();
  if (ready && !client.over && !client.chunk) client.chunk = 0;
  return absl::OkStatus();
}

// One at a time, each when the one before is on its way.
absl::Status Swarm::SendChunks(Client& client) const {
  const size_t all = protector_.sum_values(numbers_.size()), most = protector_.chunk_values();
  while (client.chunk && client.channel->flushed()) {
    if (client.round->state() != ClientRound::State::kReady) {
      client.chunk.reset();  // the round is over
      break;
    }
    if (client.drops_out) {
      client.round->Decline("it drops out", kSetUpFailed);
      client.chunk.reset();
      break;
    }
    const size_t at = *client.chunk * most;
    if (at >= all) {
      client.round->Finish({.samples = client.options.samples});
      client.chunk.reset();
      ++client.updates;
    } else {
      std::vector<float> values(std::min(most, all - at));
      if (at < numbers_.size()) {
        const size_t count = std::min(values.size(), numbers_.size() - at);
        std::ranges::copy(std::span(numbers_).subspan(at, count), values.begin());
      }
      for (float& x : values) x = float(x * client.round->factor());
      DTNN_ASSIGN_OR_RETURN(Bytes message, client.round->Encode(*client.chunk, values));
      client.channel->Send(FrameKind::kUpdate, client.round->attempt(), *client.chunk,
                           std::move(message));
      ++*client.chunk;
    }
    DTNN_RETURN_IF_ERROR(client.channel->Write());
  }
  client.sends = client.chunk.has_value();
  return absl::OkStatus();
}

}  // namespace dtnn::federation
