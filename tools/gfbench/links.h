#pragma once

#include <string>

#include "tools/flags.h"

// --links: a benchmark on hosts that tools/gfbench/on_links makes of this machine, with one link
// after the other.
namespace gf {

// Throws UserError for wrong values of --links and --hosts, and for --links on a rank of a job.
void CheckLinkFlags();

// Whether --links asks this process, which is no rank of a job, to start jobs.
bool StartsOnLinks();

// Runs `on_links HOSTS RATE LATENCY gfbench COMMAND` with the other flags that were given, for one
// link after the other, below a heading that names the link. The first failure ends that. Writes
// the figures of all links to --json. Returns the last exit code. Throws UserError.
int RunOnLinks(const std::string& command, const FlagSpec& spec);

}  // namespace gf
