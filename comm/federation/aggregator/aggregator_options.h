// What an aggregator begins with.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_OPTIONS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/aggregator/choice/criterion.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/federation/aggregator/observer/federation_observer.h"
#include "comm/federation/aggregator/parent/parent_options.h"
#include "comm/federation/aggregator/round_record.h"
#include "comm/federation/aggregator/strategy.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/compression.h"
#include "comm/federation/meeting.h"
#include "comm/federation/messages.h"
#include "comm/federation/protection.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

struct AggregatorOptions {
  MeetingPlace place;
  ModelFacts model;
  Classes classes = {};  // of its outputs, for clients that ask
  // A file with the clients that may take part and their keys (../identity), read again while
  // the federation runs; empty: all that know the secret, under any name.
  std::string allowed_clients = {};
  std::optional<Secret> identity = {};  // the key of Ed25519 that it proves to clients that want it
  ProtectionOptions protection = {};
  StrategyOptions strategy = {};
  int64_t rounds = 1;
  int min_clients = 1;
  Criterion select = {};       // which of those that are there can be asked
  double client_fraction = 1;  // of these; at least min_clients
  // Connections at a time, of clients and of those that have not said who they are. Fewer where
  // the system allows fewer open files.
  int max_connections = 16384;
  // How long one that has proved that it knows the secret may take to say who it is.
  std::chrono::milliseconds hello_time = std::chrono::seconds(10);
  // Bytes of updates that are received at a time, but always two of them: other clients wait
  // until one is complete, and added.
  uint64_t receive_bytes = uint64_t{1} << 30;
  std::chrono::milliseconds deadline{};
  // So long it waits for min_clients; clients hear of it four times as often.
  std::chrono::milliseconds timeout{};
  double max_update_norm = 0;
  // Rounds that do not wait: the parameters move after so many updates.
  BufferOptions buffer = {};
  // Where this aggregator is a client of another one: `rounds`, and how updates are weighted and
  // become parameters, are the other's. Each of its rounds is one of the other's.
  std::optional<ParentOptions> parent = {};
  Compression compression = {};  // of the updates of clients
  RobustOptions robust = {};     // how plain updates are averaged, in place of the strategy's mean
  // The seed of the choice of clients; nothing: a new one from the system, which nobody knows. None
  // is kept in a file: it would say which clients were asked.
  std::optional<Secret> choice_seed = {};
  std::function<void(std::string_view line)> say = {}, warn = {};
  std::function<bool()> interrupted = {};
  FederationObserver* observer = nullptr;  // outlives the run; null: none
  // With differential privacy, before any client is asked: the account of the state counts what
  // this attempt can tell of one at most, so that kept here it holds whatever happens then.
  std::function<absl::Status(const FederationState&)> charged = {};
  std::function<absl::Status(const RoundRecord&, const FederationState&)> round_done = {};
  // On another thread, before it makes the mean of a round that waits.
  std::function<void(const std::stop_token& stop)> sum_begins = {};

  void Say(std::string_view line) const {
    if (say) say(line);
  }
  void Warn(std::string_view line) const {
    if (warn) warn(line);
  }
  FederationObserver& Observer() const {
    static FederationObserver none;
    return observer == nullptr ? none : *observer;
  }
  absl::Status CheckInterrupt(int64_t rounds_done) const;
  // The most that a round asks.
  int MostClients() const {
    const bool holds = robust.on() && !buffer.on();  // all that it asks
    return MostAsked(protection, holds || place.datagrams != nullptr);
  }
};

// InvalidArgument for options that make no sense, alone or for that state.
absl::Status Validate(const AggregatorOptions& options, const FederationState& state);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_OPTIONS_H_
