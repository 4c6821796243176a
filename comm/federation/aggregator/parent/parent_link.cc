#include "comm/federation/aggregator/parent/parent_link.h"

#include <memory>
#include <utility>

#include "tensor/errors.h"

namespace dtnn::federation {

ParentLink::ParentLink(const ParentOptions& options, const GroupSize& size)
    : size_(size), thread_([this, options] {
        const absl::Status status = Run(options);
        const std::lock_guard lock(mutex_);
        ended_ = status;
      }) {}

ParentLink::~ParentLink() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  answered_.notify_all();
  thread_.join();
}

ClientOptions ParentLink::OptionsOf(const ParentOptions& options) {
  ClientOptions client = options.client;
  client.group = [this] {
    const std::lock_guard lock(mutex_);
    return size_;
  };
  client.say = [this](std::string_view line) { Note(/*warns=*/false, line); };
  client.warn = [this](std::string_view line) { Note(/*warns=*/true, line); };
  client.interrupted = [this, before = options.client.interrupted] {
    const std::lock_guard lock(mutex_);
    return stops_ || (before && before());
  };
  return client;
}

absl::Status ParentLink::Run(const ParentOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const std::unique_ptr<FederationClient> client,
                        FederationClient::Create(OptionsOf(options), options.secret));
  while (true) {
    DTNN_ASSIGN_OR_RETURN(RoundTask task, client->Next());
    const bool over = task.over;
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    if (over) return absl::OkStatus();
    DTNN_ASSIGN_OR_RETURN(const Answer answer, AwaitAnswer());
    DTNN_RETURN_IF_ERROR(answer.why_not.empty() ? client->Submit(answer.mean, answer.report)
                                                : client->Decline(answer.why_not, kSetUpFailed));
  }
}

absl::StatusOr<ParentLink::Answer> ParentLink::AwaitAnswer() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return stops_ || answer_.has_value(); });
  if (stops_) return absl::CancelledError("the aggregator ends");
  return *std::exchange(answer_, std::nullopt);
}

void ParentLink::Give(Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  answered_.notify_all();
}

void ParentLink::Submit(std::vector<float> mean, Report report) {
  Give({.mean = std::move(mean), .report = std::move(report)});
}

void ParentLink::Decline(std::string why) { Give({.why_not = std::move(why)}); }

void ParentLink::SetSize(const GroupSize& size) {
  const std::lock_guard lock(mutex_);
  size_ = size;
}

absl::StatusOr<std::optional<RoundTask>> ParentLink::Poll() {
  const std::lock_guard lock(mutex_);
  DTNN_RETURN_IF_ERROR(ended_);
  return std::exchange(task_, std::nullopt);
}

void ParentLink::Note(bool warns, std::string_view line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({.warns = warns, .text = std::string(line)});
}

void ParentLink::LogLines(const std::function<void(std::string_view line)>& say,
                          const std::function<void(std::string_view line)>& warn) {
  std::vector<Line> lines;
  {
    const std::lock_guard lock(mutex_);
    lines = std::exchange(lines_, {});
  }
  for (const Line& line : lines) {
    const auto& tell = line.warns ? warn : say;
    if (tell) tell(line.text);
  }
}

}  // namespace dtnn::federation
