#include "apps/aggregator/federation_facts.h"

#include <map>
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
  if (facts.last_round == nullptr) return metrics;
  for (const auto& [name, value] : facts.last_round->metrics) {
    if (metrics.size() == FederationFacts::kMostMetrics) break;
    metrics.try_emplace(OneLine(name, kMostName), value);
  }
  return metrics;
}

void AddClients(const FederationFacts& facts, MetricsText& text) {
  text.One("dtnn_federation_clients", "gauge", "Clients that are there.", facts.there);
  text.One("dtnn_federation_asked_total", "counter", "Updates that attempts at rounds asked for.",
           facts.asked);
  text.Family("dtnn_federation_updates_total", "counter",
              "Updates: accepted in a sum, left out of an attempt, or too late for it.");
  text.Add({{"result", "accepted"}}, facts.accepted);
  text.Add({{"result", "left_out"}}, facts.left_out);
  text.Add({{"result", "late"}}, facts.late);
  text.One("dtnn_federation_refusals_total", "counter", "Times that a caller was refused.",
           facts.refusals);
  text.One("dtnn_federation_revocations_total", "counter",
           "Clients that were sent away, as the list no longer has them.", facts.revocations);
}

void AddLastRound(const FederationFacts::Round& round, MetricsText& text) {
  text.One("dtnn_federation_last_round_seconds", "gauge", "How long its last attempt took.",
           round.seconds);
  if (!round.epsilons) return;
  text.Family("dtnn_federation_epsilon", "gauge",
              "Differential privacy of all rounds: of the model, and against the aggregator.");
  text.Add({{"of", "model"}}, round.epsilons->model);
  text.Add({{"of", "aggregator"}}, round.epsilons->aggregator);
  if (!round.clipping) return;
  text.One("dtnn_federation_clip", "gauge", "The clip of the last round, where it adapts.",
           round.clipping->clip);
  text.One("dtnn_federation_below_clip", "gauge",
           "The share of these updates that were not longer, but for noise.",
           round.clipping->below);
}

std::string Json(const std::string& name, const FederationFacts::Client& client, bool hides_drawn) {
  std::string text =
      StrCat("{\"name\": ", JsonText(OneLine(name, kMostName)),
             ", \"there\": ", client.there ? "true" : "false", ", \"samples\": ", client.samples);
  if (!hides_drawn) {
    StrAppend(&text, ", \"asked\": ", client.asked ? "true" : "false",
              ", \"accepted\": ", client.accepted, ", \"left_out\": ", client.left_out,
              ", \"late\": ", client.late,
              ", \"why\": ", JsonText(OneLine(client.why, kMostReason)));
  }
  return text + "}";
}

std::string Json(const FederationFacts::Round& round) {
  federation::Metrics metrics = round.metrics;
  for (auto& [name, value] : metrics) name = OneLine(name, kMostName);
  return StrCat("{\"round\": ", round.round, ", \"attempts\": ", round.attempts,
                ", \"asked\": ", round.asked, ", \"accepted\": ", round.accepted,
                ", \"seconds\": ", JsonNumber(round.seconds),
                ", \"bytes_sent\": ", round.bytes_sent,
                ", \"bytes_received\": ", round.bytes_received, ", \"metrics\": ", JsonOf(metrics),
                round.clipping ? StrCat(", \"clip\": ", JsonNumber(round.clipping->clip),
                                        ", \"below_clip\": ", JsonNumber(round.clipping->below))
                               : "",
                "}");
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
  if (facts.last_round != nullptr) AddLastRound(*facts.last_round, text);
  text.One("dtnn_federation_idle_seconds", "gauge",
           "Since the aggregator has last listened to its clients.", facts.seconds_since_turn);
  AddProcess(text);
  return text.text();
}

std::string StatusOf(const FederationFacts& facts, const FederationLists& lists) {
  std::string clients, rounds;
  for (const auto& [name, client] : lists.clients) {
    StrAppend(&clients, clients.empty() ? "" : ",\n  ", Json(name, client, lists.hides_drawn));
  }
  for (const auto& round : lists.rounds) {
    StrAppend(&rounds, rounds.empty() ? "" : ",\n  ", Json(*round));
  }
  return StrCat("{\"network\": ", JsonText(facts.network), ",\n \"state\": \"", Name(facts.state),
                "\",\n \"rounds\": ", facts.rounds, ",\n \"rounds_done\": ", facts.rounds_done,
                ",\n \"clients_there\": ", facts.there, ",\n \"refused\": ", facts.refusals,
                ",\n \"last_rounds\": [", rounds, "],\n \"clients\": [", clients, "]}\n");
}

}  // namespace dtnn
