/* SPDX-License-Identifier: MIT */
#include "simdrive/inflight.h"

void inflight_enter(struct inflight_table *table, struct inflight *entry)
{
	(void)pthread_mutex_lock(&table->lock);
	entry->next = table->first;
	entry->link = &table->first;
	if (entry->next != NULL)
		entry->next->link = &entry->next;
	table->first = entry;
	(void)pthread_mutex_unlock(&table->lock);
}

void inflight_leave(struct inflight_table *table, const struct inflight *entry)
{
	(void)pthread_mutex_lock(&table->lock);
	*entry->link = entry->next;
	if (entry->next != NULL)
		entry->next->link = entry->link;
	(void)pthread_mutex_unlock(&table->lock);
}

bool inflight_is_any(struct inflight_table *table)
{
	bool is_any = false;

	(void)pthread_mutex_lock(&table->lock);
	is_any = table->first != NULL;
	(void)pthread_mutex_unlock(&table->lock);
	return is_any;
}

size_t inflight_seize(struct inflight_table *table, struct damage_write *writes,
		      size_t count_max)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&table->lock); /* and never unlocked */
	for (const struct inflight *entry = table->first;
	     entry != NULL && count < count_max; entry = entry->next)
		writes[count++] = entry->write;
	return count;
}
