#pragma once

namespace gf {

// From this call to the end of the process, SIGTERM and SIGINT ask for a checkpoint and the end of
// training, SIGUSR1 asks for a checkpoint. A second SIGINT ends the process at once.
void WatchSignals();

// What signals have asked for since WatchSignals; from any thread.
bool StopRequested();
bool CheckpointRequested();
// To be called when the checkpoint is written.
void ClearCheckpointRequest();

}  // namespace gf
