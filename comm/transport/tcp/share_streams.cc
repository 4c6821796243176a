#include "comm/transport/tcp/share_streams.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "comm/transport/shared/handover.h"
#include "comm/transport/shared/shared_memory.h"
#include "comm/transport/shared/shared_stream.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// Whether the memory is there: first at the lower rank's end, then at the other's.
enum class Answer : uint8_t { kNo, kYes };

static_assert(std::has_unique_object_representations_v<Invitation>);

class Agreement {
 public:
  Agreement(Mesh& mesh, StreamWait& wait, size_t ring_bytes)
      : mesh_(mesh), wait_(wait), ring_bytes_(ring_bytes) {}

  // The steps, each with all ranks before the next one. The first and the last wait for what was
  // said in the step before, and a rank takes only what lower ranks make once they have taken
  // theirs, so that none waits for ever. Those that take first leave few descriptors on their way,
  // of which the system lets a user have as many as a process may have open.

  // The higher rank of the two says where it takes the memory.
  absl::Status Invite(int lower);
  absl::Status Take(int lower);
  // The lower one makes it.
  absl::Status Make(int higher);
  absl::Status Agree(int higher);

  const SharingTrouble& trouble() const { return trouble_; }

 private:
  template <typename T>
  absl::Status Tell(int rank, const T& message) {
    return Checked(rank,
                   wait_.Write(Of(rank), {reinterpret_cast<const char*>(&message), sizeof(message)},
                               What(rank)));
  }
  template <typename T>
  absl::StatusOr<T> Hear(int rank) {
    T message;
    DTNN_RETURN_IF_ERROR(Checked(
        rank, wait_.Read(Of(rank), std::as_writable_bytes(std::span(&message, 1)), What(rank))));
    return message;
  }
  absl::Status Checked(int rank, const absl::Status& status) const {
    if (absl::IsOutOfRange(status)) return Unavailable(Who(rank), " is gone: ", status.message());
    return WithContext(status, Who(rank));
  }
  Stream& Of(int rank) { return *mesh_.links[size_t(rank)].stream; }
  std::string Who(int rank) const {
    return StrCat("rank ", rank, " at ", mesh_.links[size_t(rank)].address);
  }
  std::string What(int rank) const { return StrCat(Who(rank), " to agree on shared memory"); }
  template <typename Text>
  void Note(int rank, const Text& why) {
    if (trouble_.ranks.empty()) trouble_.why = std::string(why);
    trouble_.ranks.push_back(rank);
  }
  // From now on the stream to that rank.
  void Use(int rank, SharedEnd end) {
    std::unique_ptr<Stream>& stream = mesh_.links[size_t(rank)].stream;
    stream = SharedStream(std::move(end), stream->binding());
  }

  Mesh& mesh_;
  StreamWait& wait_;
  const size_t ring_bytes_;
  std::map<int, Inbox> inboxes_;   // by lower rank
  std::map<int, SharedEnd> made_;  // by higher rank
  SharingTrouble trouble_;
};

absl::Status Agreement::Invite(int lower) {
  absl::StatusOr<Inbox> inbox = Inbox::Create();
  Invitation invitation;
  if (inbox.ok()) {
    invitation = inbox->invitation();
    inboxes_.emplace(lower, *std::move(inbox));
  } else {
    Note(lower, inbox.status().message());
  }
  return Tell(lower, invitation);
}

absl::Status Agreement::Make(int higher) {
  DTNN_ASSIGN_OR_RETURN(const Invitation invitation, Hear<Invitation>(higher));
  if (invitation.empty()) {
    Note(higher, "it cannot take shared memory");
    return Tell(higher, Answer::kNo);
  }
  absl::StatusOr<SharedEnd> end = HandOver(invitation, ring_bytes_);
  if (!end.ok()) {
    Note(higher, end.status().message());
    return Tell(higher, Answer::kNo);
  }
  made_.emplace(higher, *std::move(end));
  return Tell(higher, Answer::kYes);
}

absl::Status Agreement::Take(int lower) {
  DTNN_ASSIGN_OR_RETURN(const Answer made, Hear<Answer>(lower));
  const auto inbox = inboxes_.find(lower);
  if (inbox == inboxes_.end()) return absl::OkStatus();
  if (made != Answer::kYes) {
    Note(lower, "it cannot make shared memory for both");
    return absl::OkStatus();
  }
  absl::StatusOr<SharedEnd> end = inbox->second.Take(ring_bytes_);
  DTNN_RETURN_IF_ERROR(Tell(lower, end.ok() ? Answer::kYes : Answer::kNo));
  if (end.ok()) {
    Use(lower, *std::move(end));
  } else {
    Note(lower, end.status().message());
  }
  return absl::OkStatus();
}

absl::Status Agreement::Agree(int higher) {
  const auto made = made_.find(higher);
  if (made == made_.end()) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const Answer taken, Hear<Answer>(higher));
  if (taken == Answer::kYes) {
    Use(higher, std::move(made->second));
  } else {
    Note(higher, "it cannot take shared memory");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SharingTrouble> ShareStreams(std::span<const int> others, Mesh& mesh,
                                            StreamWait& wait) {
  Agreement agreement(mesh, wait, RingBytesFor(others.size()));
  const auto with = [&](bool lower, absl::Status (Agreement::*step)(int)) -> absl::Status {
    for (const int other : others) {
      if ((other < mesh.place.rank) == lower) DTNN_RETURN_IF_ERROR((agreement.*step)(other));
    }
    return absl::OkStatus();
  };
  DTNN_RETURN_IF_ERROR(with(true, &Agreement::Invite));
  DTNN_RETURN_IF_ERROR(with(true, &Agreement::Take));
  DTNN_RETURN_IF_ERROR(with(false, &Agreement::Make));
  DTNN_RETURN_IF_ERROR(with(false, &Agreement::Agree));
  return agreement.trouble();
}

}  // namespace dtnn
