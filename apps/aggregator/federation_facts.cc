#include "apps/aggregator/federation_facts.h"

#include <algorithm>
#include <string_view>

#include "apps/monitor/metrics_text.h"
#include "apps/monitor/process_metrics.h"
#include "apps/program/log.h"
#include "tensor/text/json_text.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr size_t kMostName = 200, kMostReason = 500;

std::string_view Name(FederationFacts::State state) {
  switch (state) {
    case FederationFacts::State::kWaits:
      return "waits for clients";
    case FederationFacts::State::kRound:
      return "round";
    case FederationFacts::State::kSaves:
      return "saves and tests";
    case FederationFacts::State::kOver:
      return "over";
  }
  return "";
}

// Those of the last round, by names that are fit for labels, each once.
std::map<std::string, double> LastMetrics(const FederationFacts& facts) {
  std::map<std::string, double> metrics;
  if (facts.last_rounds.empty()) return metrics;
  for (const auto& [name, value] : facts.last_rounds.back().metrics) {
    if (metrics.size() == FederationFacts::kMostMetrics) break;
    metrics.try_emplace(OneLine(name, kMostName), value);
  }
  return metrics;
}

int64_t There(const FederationFacts& facts) {
  return std::ranges::count_if(facts.clients, [](const auto& named) { return named.second.there; });
}

void AddClients(const FederationFacts& facts, MetricsText& text) {
  text.One("dtnn_federation_clients", "gauge", "Clients that are there.", There(facts));
  text.Family(
      "dtnn_federation_clients_total", "counter",
      "What became of clients: asked in an attempt, with an update that counted, left out "
      "of an attempt, with an update that came too late, refused, sent away as no longer on "
      "the list.");
  const std::pair<std::string_view, int64_t> counts[] = {
      {"asked", facts.asked}, {"answered", facts.answered}, {"left_out", facts.left_out},
      {"late", facts.late},   {"refused", facts.refused},   {"revoked", facts.revoked}};
  for (const auto& [event, count] : counts) text.Add({{"event", event}}, count);
}

std::string Json(const FederationFacts::Client& client, const std::string& name) {
  return StrCat("{\"name\": ", JsonText(OneLine(name, kMostName)),
                ", \"there\": ", client.there ? "true" : "false",
                ", \"asked\": ", client.asked ? "true" : "false", ", \"samples\": ", client.samples,
                ", \"accepted\": ", client.accepted, ", \"left_out\": ", client.left_out,
                ", \"late\": ", client.late,
                ", \"why\": ", JsonText(OneLine(client.why, kMostReason)), "}");
}

std::string Json(const FederationFacts::Round& round) {
  federation::Metrics metrics = round.metrics;
  for (auto& [name, value] : metrics) name = OneLine(name, kMostName);
  return StrCat(
      "{\"round\": ", round.round, ", \"attempts\": ", round.attempts, ", \"asked\": ", round.asked,
      ", \"accepted\": ", round.accepted, ", \"seconds\": ", JsonNumber(round.seconds),
      ", \"bytes_sent\": ", round.bytes_sent, ", \"bytes_received\": ", round.bytes_received,
      ", \"metrics\": ", JsonOf(metrics), "}");
}

}  // namespace

std::string MetricsOf(const FederationFacts& facts) {
  MetricsText text;
  text.One("dtnn_federation_rounds", "gauge", "Rounds that the federation is to do.", facts.rounds);
  text.One("dtnn_federation_rounds_done_total", "counter",
           "Rounds that are done, with those before it was resumed.", facts.rounds_done);
  text.Family("dtnn_federation_attempts_total", "counter", "Attempts at rounds that are over.");
  text.Add({{"result", "good"}}, facts.good_attempts);
  text.Add({{"result", "failed"}}, facts.failed_attempts);
  AddClients(facts, text);
  text.Family("dtnn_federation_bytes_total", "counter", "Bytes to and from clients.");
  text.Add({{"direction", "sent"}}, int64_t(facts.bytes_sent));
  text.Add({{"direction", "received"}}, int64_t(facts.bytes_received));
  text.Family("dtnn_federation_phase_seconds", "histogram",
              "How long phases of attempts took: keys (set_up), training and updates, what makes "
              "the sum readable (finish), saving and testing.");
  text.Add({{"phase", "set_up"}}, facts.set_up);
  text.Add({{"phase", "updates"}}, facts.updates);
  text.Add({{"phase", "finish"}}, facts.finish);
  text.Add({{"phase", "save"}}, facts.save);
  text.Family("dtnn_federation_metric", "gauge",
              "Metrics of the last round: means over its clients, and of tests (val_...).");
  for (const auto& [name, value] : LastMetrics(facts)) text.Add({{"metric", name}}, value);
  if (!facts.last_rounds.empty()) {
    text.One("dtnn_federation_last_round_seconds", "gauge", "How long its last attempt took.",
             facts.last_rounds.back().seconds);
  }
  text.One("dtnn_federation_idle_seconds", "gauge",
           "Since the aggregator has last listened to its clients.", facts.seconds_since_turn);
  AddProcess(text);
  return text.text();
}

std::string StatusOf(const FederationFacts& facts) {
  std::string clients, rounds;
  size_t listed = 0;
  for (const bool there : {true, false}) {
    for (const auto& [name, client] : facts.clients) {
      if (client.there != there || listed == FederationFacts::kMostClients) continue;
      ++listed;
      StrAppend(&clients, clients.empty() ? "" : ",\n  ", Json(client, name));
    }
  }
  for (const FederationFacts::Round& round : facts.last_rounds) {
    StrAppend(&rounds, rounds.empty() ? "" : ",\n  ", Json(round));
  }
  return StrCat("{\"network\": ", JsonText(facts.network), ",\n \"state\": \"", Name(facts.state),
                "\",\n \"rounds\": ", facts.rounds, ",\n \"rounds_done\": ", facts.rounds_done,
                ",\n \"clients_there\": ", There(facts), ",\n \"refused\": ", facts.refused,
                ",\n \"last_rounds\": [", rounds, "],\n \"clients\": [", clients, "]}\n");
}

}  // namespace dtnn
