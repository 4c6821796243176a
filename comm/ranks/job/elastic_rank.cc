#include "comm/ranks/job/elastic_rank.h"

#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_streams.h"
#include "tensor/status_macros.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<ElasticRank>> ElasticRank::Create(
    const JobEnvironment& job, const CommunicatorOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const ElasticRange range, OfFlag(ElasticRange::Parse(job.elastic),
                                                         kElasticVariable, "=", job.elastic));
  DTNN_ASSIGN_OR_RETURN(StreamMaker streams, StreamsOf(job));
  return std::unique_ptr<ElasticRank>(new ElasticRank(range,
                                                      {.coordinator = job.rendezvous.address,
                                                       .stream = std::move(streams),
                                                       .share_memory = job.rendezvous.share_memory},
                                                      job.secret, options));
}

absl::StatusOr<bool> ElasticRank::Join(const RankFacts& facts) {
  may_grow_ = facts.may_grow;
  absl::StatusOr<std::optional<Formation>> formed = membership_.Form(facts);
  if (absl::IsInvalidArgument(formed.status()) || absl::IsPermissionDenied(formed.status())) {
    return WithExitCode(formed.status(), kExitUsage);
  }
  DTNN_RETURN_IF_ERROR(formed.status());
  fresh_ = formed->has_value();
  if (fresh_) formation_ = *std::move(*formed);
  return fresh_;
}

std::optional<Mesh> ElasticRank::TakeMesh() {
  if (!std::exchange(fresh_, false)) return std::nullopt;
  return std::move(formation_.mesh);
}

}  // namespace dtnn
