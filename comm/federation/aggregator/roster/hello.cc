// What a client says of itself when it comes, and whether it fits.

#include <utility>

#include "absl/strings/str_join.h"
#include "comm/federation/aggregator/roster/roster.h"

namespace dtnn::federation {
namespace {

constexpr char kSameNetwork[] = "; the model must be the same for the aggregator and all clients";

// Between a client's network and the aggregator's, in the words of a refusal.
std::string Difference(const ModelFacts& client, const ModelFacts& aggregator) {
  if (client.sample != aggregator.sample) {
    return StrCat("its samples are of ", absl::StrJoin(client.sample, "x"),
                  " (height x width x channels), the aggregator's network takes samples of ",
                  absl::StrJoin(aggregator.sample, "x"));
  }
  if (client.network == aggregator.network && client.local != aggregator.local) {
    constexpr Hash kNone{};
    return StrCat(client.local == kNone
                      ? "this client exchanges all parameters, this federation keeps some local"
                  : aggregator.local == kNone
                      ? "this client keeps some parameters local, this federation exchanges all"
                      : "this client keeps other parameters local than this federation",
                  "; local parameters must be the same for the aggregator and all clients");
  }
  if (client.values != aggregator.values) {
    return StrCat("its network has ", client.values, " numbers, the aggregator's ",
                  aggregator.values, kSameNetwork);
  }
  return StrCat("its network differs from the aggregator's in layers, options or format",
                kSameNetwork);
}

}  // namespace

absl::StatusOr<std::string> Roster::FindOtherNames(const Hello& hello) const {
  const Hash unknown{};
  const auto differs = [&](const Hash& names) {
    return hello.class_names != unknown && names != unknown && names != hello.class_names;
  };
  DTNN_ASSIGN_OR_RETURN(const Hash own, HashOfNames(options_.classes.names));
  if (differs(own)) return "the aggregator";
  for (const auto& [id, member] : members_) {
    if (!member.name.empty() && member.name != hello.name && differs(member.class_names)) {
      return StrCat("client ", member.name);
    }
  }
  return "";
}

// Its mean stands for many clients, and nothing of each of them is known here.
absl::Status Roster::CheckTakesGroup(const Hello& hello) const {
  if (options_.strategy.by_steps() || options_.strategy.strategy == Strategy::kInvwavg) {
    return FailedPrecondition("strategy ", Name(options_.strategy.strategy),
                              " needs the samples and steps of each client, so its clients cannot "
                              "be aggregators");
  }
  if (options_.buffer.on()) {
    return absl::FailedPreconditionError(
        "its rounds do not wait, and aggregators can only be clients of rounds that do");
  }
  if (options_.strategy.controls()) {
    return absl::FailedPreconditionError(
        "strategy scaffold needs clients that learn whether their updates are used, so its clients "
        "cannot be aggregators");
  }
  if (options_.compression.owes()) {
    return absl::FailedPreconditionError(
        "its clients send a part of each update and keep the rest, which aggregators do not, so "
        "its clients cannot be aggregators");
  }
  if (!options_.classes.names.empty() && hello.class_names == Hash{}) {
    return absl::FailedPreconditionError(
        "this aggregator knows the names of the classes, and its clients must compare theirs with "
        "them: give their aggregator the same names");
  }
  return absl::OkStatus();  // encryption and noise are compared
}

absl::Status Roster::TakeHello(int id, Member& member, const Frame& frame) {
  absl::StatusOr<Hello> hello = HelloFromBytes(frame.body);
  if (!hello.ok()) {
    Refuse(member, std::string(hello.status().message()));
    return absl::OkStatus();
  }
  if (RefuseUnproved(member, hello->name)) return absl::OkStatus();
  member.name = hello->name;
  const std::string protection = protector_.ToString();
  if (hello->protection != protection) {
    Refuse(member,
           StrCat("its updates have ", hello->protection, ", this federation's ", protection));
    return absl::OkStatus();
  }
  if (hello->model != options_.model) {
    Refuse(member, Difference(hello->model, options_.model));
    return absl::OkStatus();
  }
  if (IsAmong(hello->aggregators)) {
    RefuseRing(member);
    return absl::OkStatus();
  }
  if (hello->clients > 0) {
    if (const absl::Status takes = CheckTakesGroup(*hello); !takes.ok()) {
      Refuse(member, std::string(takes.message()));
      return absl::OkStatus();
    }
  }
  DTNN_ASSIGN_OR_RETURN(const std::string other, FindOtherNames(*hello));
  if (!other.empty()) {
    Refuse(member, StrCat("the classes of its data have other names, or another order, than those ",
                          "of ", other, "; an aggregator that knows the names gives them to all"));
    return absl::OkStatus();
  }
  member.class_names = hello->class_names;
  member.key = protector_.protection() == Protection::kNone ? KeyName{} : hello->key;
  if (state_.from.encrypted && member.key != state_.key) {
    Refuse(member, "it has another key than this federation's clients");
    return absl::OkStatus();
  }
  for (auto& [other_id, other] : members_) {
    if (other_id == id || other.name != hello->name) continue;
    options_.Say(StrCat("client ", other.name, " has come again, by another connection"));
    End(other, StrCat("another client has come under the name ", other.name,
                      "; each needs a name of its own"));
    break;
  }
  member.samples = hello->samples;
  member.steps = hello->steps;
  member.clients = hello->clients;
  member.aggregators = hello->aggregators;
  member.labels = hello->labels;
  const federation::Welcome welcome = {.nonce = nonce_,
                                       .alive_ms = uint32_t(options_.timeout.count() / 4)};
  member.channel.Send(FrameKind::kWelcome, 0, 0, ToBytes(welcome));
  member.there = true;
  options_.Observer().OnClient(member.name, member.samples);
  options_.Say(StrCat(
      "client ", member.name, " is there, with ", member.samples, " samples",
      member.clients > 0 ? StrCat(" of ", member.clients, " clients") : "",
      member.labels.empty() ? "" : StrCat(", ", TextOf(member.labels)),
      Fulfils(member) ? ""
                      : StrCat(", and is not asked: it does not fulfil ", options_.select.text())));
  if (member.key != Key()) {
    options_.Warn(StrCat("client ", member.name,
                         " has another key than most; only those of one key can take part"));
  }
  return absl::OkStatus();
}

}  // namespace dtnn::federation
